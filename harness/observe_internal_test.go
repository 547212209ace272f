package harness

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
)

// TestAnEndlessLoopIsNamed has endpoints that were sent unchanged ten times a second to each
// of two proxies, and clusters that were now and then.
func TestAnEndlessLoopIsNamed(t *testing.T) {
	t.Parallel()
	p := profiles.Default()
	p.Phases.Steady.Duration = 10 * time.Second
	r := &run{cfg: Config{Profile: &p}, log: slog.New(slog.DiscardHandler)}
	r.warnOfLoops(&result.Result{
		Proxies: &result.Proxies{Ready: 2}, Volume: &result.Volume{Resent: map[string]int64{"eds": 200, "cds": 20}},
	})
	if len(r.warnings) != 1 || !strings.HasPrefix(r.warnings[0], "eds: ") || !strings.Contains(r.warnings[0], "200 times, 10 times a second") {
		t.Errorf("warnings %q", r.warnings)
	}
}
