package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/result"
)

func TestCalibrateRefusesBadFlags(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--format", "xml"}, `"xml": must be text, json or markdown`},
		{[]string{"--proxies", "3"}, "proxies: 3: calibrating needs at least 20"},
		{[]string{"-o", t.TempDir()}, "already exists"},
		{[]string{"quickstart"}, "--help"},
	} {
		code, stdout, stderr := command(t.Context(), append([]string{"calibrate", "--quiet"}, test.args...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("%v: exit %d, %q, %q", test.args, code, stdout, stderr)
		}
	}
}

func TestFaultThatIsNoneStopsTheControlPlane(t *testing.T) {
	t.Setenv("XDSBENCH_FAULT_DELAY", "soon")
	code, _, stderr := command(t.Context(), "controlplane", "--kubeconfig", "none")
	if code != exitFailed || !strings.Contains(stderr, `XDSBENCH_FAULT_DELAY="soon"`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestContradictionInTheResultIsADefect(t *testing.T) {
	var f runFlags
	err := f.exitCode(&result.Result{Errors: []string{"accounting: 3 pairs expected, but 2 ended"}}, nil)
	var exit *exitError
	if !errors.As(err, &exit) || exit.code != exitDefects {
		t.Errorf("verdict %v", err)
	}
}
