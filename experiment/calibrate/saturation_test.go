package calibrate_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/result"
)

// TestStarvedHarnessIsReportedSaturated also shows that what the harness adds is known:
// messages had arrived long before they got their time stamp.
func TestStarvedHarnessIsReportedSaturated(t *testing.T) {
	c := exec.CommandContext(t.Context(), executable(t), "starved", t.TempDir())
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var r result.Result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	reasons := strings.Join(r.Harness.Reasons, "\n")
	if !r.Harness.Saturated || !strings.Contains(reasons, "waited for their time stamp") || r.Harness.GOMAXPROCS != 1 {
		t.Errorf("a starved harness says: saturated %v, %s", r.Harness.Saturated, reasons)
	}
	p := r.Propagation
	if p.All.Count == 0 || p.Arrived.Count != p.All.Count || p.LastArrived.Count != p.LastProxy.Count {
		t.Errorf("%d latencies, %d to arrival; %d of last proxies, %d to arrival",
			p.All.Count, p.Arrived.Count, p.LastProxy.Count, p.LastArrived.Count)
	}
	if p.Arrived.Mean >= p.All.Mean || p.Arrived.P50 >= p.All.P50 {
		t.Errorf("to arrival mean %g s, median %g s; to the stamp %g s, %g s", p.Arrived.Mean, p.Arrived.P50, p.All.Mean, p.All.P50)
	}
	t.Logf("reasons: %s", reasons)
}
