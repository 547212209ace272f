package collect

import (
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/result"
)

func TestBooksThatDoNotCloseAreAnError(t *testing.T) {
	for name, test := range map[string]struct {
		p    result.Propagation
		want string
	}{
		"nothing happened":       {result.Propagation{}, ""},
		"every pair ended":       {result.Propagation{Expected: 4, Deliveries: 1, Unobserved: 1, Undelivered: 1, Interrupted: 1, Retired: 1}, ""},
		"a pair is missing":      {result.Propagation{Expected: 3, Deliveries: 1, Unobserved: 1, Undelivered: 1}, "3 pairs expected, but 2 ended"},
		"a pair ended twice":     {result.Propagation{Expected: 1, Undelivered: 2}, "1 pairs expected, but 2 ended"},
		"a latency is missing":   {result.Propagation{Expected: 2, Deliveries: 2, All: &result.Distribution{Count: 1}}, "2 pairs delivered, but 1 have a latency"},
		"a latency is too many":  {result.Propagation{Expected: 1, Deliveries: 1, All: &result.Distribution{Count: 2}}, "1 pairs delivered, but 2 have a latency"},
		"both kinds of sample":   {result.Propagation{Expected: 3, Deliveries: 3, Unobserved: 1, All: &result.Distribution{Count: 2}}, ""},
		"one beyond a histogram": {result.Propagation{Expected: 1, Deliveries: 1, Unrecordable: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(contradictions(&test.p), "\n")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("errors %q, want %q", got, test.want)
			}
		})
	}
}
