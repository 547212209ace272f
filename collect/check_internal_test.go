package collect

import (
	"strings"
	"testing"
)

func TestBooksThatDoNotCloseAreAnError(t *testing.T) {
	for name, test := range map[string]struct {
		p    Propagation
		want string
	}{
		"nothing happened":       {Propagation{}, ""},
		"every pair ended":       {Propagation{Expected: 4, Deliveries: 1, Unobserved: 1, Unreached: 1, Interrupted: 1, Retired: 1}, ""},
		"a pair is missing":      {Propagation{Expected: 3, Deliveries: 1, Unobserved: 1, Unreached: 1}, "3 pairs expected, but 2 ended"},
		"a pair ended twice":     {Propagation{Expected: 1, Unreached: 2}, "1 pairs expected, but 2 ended"},
		"a latency is missing":   {Propagation{Expected: 2, Deliveries: 2, All: &Distribution{Count: 1}}, "2 pairs delivered, but 1 have a latency"},
		"a latency is too many":  {Propagation{Expected: 1, Deliveries: 1, All: &Distribution{Count: 2}}, "1 pairs delivered, but 2 have a latency"},
		"both kinds of sample":   {Propagation{Expected: 3, Deliveries: 3, Unobserved: 1, All: &Distribution{Count: 2}}, ""},
		"one beyond a histogram": {Propagation{Expected: 1, Deliveries: 1, Unrecordable: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(test.p.check(), "\n")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("errors %q, want %q", got, test.want)
			}
		})
	}
}
