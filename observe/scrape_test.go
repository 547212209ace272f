package observe_test

import (
	"testing"

	"github.com/xdsbench/xdsbench/observe"
)

func TestSumReadsOneMetricOnly(t *testing.T) {
	const text = `# HELP pushes of "pushes" 9
pushes{type="eds"} 3
pushes{type="a } b 7"} 4 1700000000000
pushes_total 100
pushesque 5
pushes 0.5
`
	scrape, err := observe.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if sum, ok := scrape.Sum("pushes"); !ok || sum != 7.5 {
		t.Errorf("sum = %v, %v; want 7.5", sum, ok)
	}
	if _, ok := scrape.Sum("push"); ok {
		t.Error("a sum of a metric that is not there")
	}
}
