package observe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/observe"
)

// scrape is a page of metrics with istiod's counts.
func scrape(started, connected, eds, failed, rejects int) []byte {
	return fmt.Appendf(nil, `# TYPE process_start_time_seconds gauge
process_start_time_seconds %d
# TYPE pilot_xds gauge
pilot_xds{version="1"} %d
# TYPE pilot_xds_pushes counter
pilot_xds_pushes{type="eds"} %d
pilot_xds_pushes{type="cds_senderr"} %d
# TYPE pilot_total_xds_rejects counter
pilot_total_xds_rejects{type="eds"} %d
`, started, connected, eds, failed, rejects)
}

// counts are ours.
func counts(connected, eds, nacks, broken int64) observe.Counts {
	c := observe.Counts{Connected: connected, NACKs: nacks, Broken: broken}
	c.Responses[xds.EDS] = eds
	return c
}

// check returns the disagreements as one text.
func check(t *testing.T, replicas ...observe.Replica) string {
	t.Helper()
	found, err := observe.CrossCheck(replicas)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, "\n")
}

func TestCountsAreComparedWithTheControlPlanesOwn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after observe.Counts
		want  string
	}{
		"equal":                 {counts(4, 112, 2, 0), ""},
		"another connection":    {counts(5, 112, 2, 0), "connected proxies: 5 by our count, 4 by the control plane's pilot_xds"},
		"responses lost":        {counts(4, 110, 2, 1), `eds responses since the warm-up: 10 by our count, 12 by the control plane's pilot_xds_pushes{type="eds"}`},
		"lost as streams broke": {counts(4, 110, 2, 3), "(3 streams broke"},
		"NACKs not counted":     {counts(4, 112, 3, 0), "NACKs in the whole run: 3 by our count, 2 by the control plane's"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := observe.Replica{
				Start: scrape(1, 0, 0, 0, 7), Before: scrape(1, 4, 100, 0, 7), After: scrape(1, 4, 112, 1, 9),
				CountsBefore: counts(4, 100, 0, 0), CountsAfter: test.after,
			}
			for prefix, text := range map[string]string{"cross-check: ": check(t, r), "cross-check: replica 1: ": check(t, observe.Replica{}, r)} {
				if (text == "") != (test.want == "") || !strings.Contains(text, test.want) {
					t.Errorf("%q, want %q", text, test.want)
				}
				if text != "" && !strings.HasPrefix(text, prefix) {
					t.Errorf("%q does not begin with the replica", text)
				}
			}
		})
	}
}

func TestAReplicaIsComparedFromItsLastStartOn(t *testing.T) {
	t.Parallel()
	restart := counts(0, 150, 5, 4)
	r := observe.Replica{
		Start: scrape(1, 0, 0, 0, 0), Before: scrape(1, 4, 100, 0, 0), After: scrape(9, 4, 12, 0, 2),
		CountsBefore: counts(4, 100, 0, 0), CountsAfter: counts(4, 162, 7, 4), AtRestart: &restart,
	}
	if text := check(t, r); text != "" {
		t.Errorf("disagreements: %s", text)
	}
}

func TestWhatAReplicaDoesNotCountIsNotCompared(t *testing.T) {
	t.Parallel()
	other := []byte("# TYPE up gauge\nup 1\n")
	for name, r := range map[string]observe.Replica{
		"no metrics":    {CountsAfter: counts(1, 2, 3, 0)},
		"foreign names": {Start: other, Before: other, After: other, CountsAfter: counts(1, 2, 3, 0)},
	} {
		if text := check(t, r); text != "" {
			t.Errorf("%s: %s", name, text)
		}
	}
	_, err := observe.CrossCheck([]observe.Replica{{Before: []byte("{"), After: []byte("{")}})
	if err == nil {
		t.Error("no error for a page that is no Prometheus text")
	}
}

func TestPushesLeaveOutThoseThatFailed(t *testing.T) {
	t.Parallel()
	before, after := scrape(1, 4, 100, 2, 0), scrape(1, 4, 112, 5, 0)
	m, err := observe.Gained(before, after)
	if err != nil {
		t.Fatal(err)
	}
	if n := observe.Pushes(m); n == nil || *n != 12 {
		t.Errorf("pushes %v, want 12", n)
	}
	s, err := observe.Parse(after)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := s.Pushes(); !ok || n != 112 {
		t.Errorf("pushes of a scrape: %v, %v; want 112", n, ok)
	}
}
