package observe_test

import (
	"testing"

	"github.com/xdsbench/xdsbench/observe"
)

func TestSumOfSeriesReadsOneMetricOnly(t *testing.T) {
	const scrape = `# HELP pushes of "pushes" 9
pushes{type="eds"} 3
pushes{type="a } b 7"} 4 1700000000000
pushes_total 100
pushesque 5
pushes 0.5
`
	if sum, ok := observe.SumSeries([]byte(scrape), "pushes"); !ok || sum != 7.5 {
		t.Errorf("sum = %v, %v; want 7.5", sum, ok)
	}
	if _, ok := observe.SumSeries([]byte(scrape), "push"); ok {
		t.Error("a sum of a metric that is not there")
	}
}
