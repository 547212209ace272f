package calibrate_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/collect"
)

func TestStarvedHarnessIsReportedSaturated(t *testing.T) {
	c := exec.CommandContext(t.Context(), executable(t), "starved", t.TempDir())
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var h collect.Harness
	if err := json.Unmarshal(out, &h); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !h.Saturated || len(h.Reasons) == 0 || h.GOMAXPROCS != 1 {
		t.Errorf("a starved harness says: %s", out)
	}
	t.Logf("reasons: %s", strings.Join(h.Reasons, "\n"))
}
