package metric_test

import (
	"testing"

	"github.com/xdsbench/xdsbench/result/metric"
)

func TestLimitIsReadInTheUnitOfItsMetric(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		metric, text string
		bound        float64
		lower        bool
	}{
		{"propagation.all.p99", "250ms", 0.25, false},
		{"propagation.all.p99", "<= 2", 2, false},
		{"controlPlane.peakRSSBytes", "4GiB", 4 << 30, false},
		{"propagation.deliveries", ">=10", 10, true},
	} {
		bound, lower, err := metric.ParseLimit(c.metric, c.text)
		if bound != c.bound || lower != c.lower || err != nil {
			t.Errorf("%s %s: %g, lower %t, error %v", c.metric, c.text, bound, lower, err)
		}
	}
	for _, c := range [][2]string{{"propagation.all.p98", "1s"}, {"propagation.all.p99", "soon"}} {
		if _, _, err := metric.ParseLimit(c[0], c[1]); err == nil {
			t.Errorf("%s %s: no error", c[0], c[1])
		}
	}
}
