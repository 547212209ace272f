//go:build realstack

package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/prometheus/procfs"

	"github.com/xdsbench/xdsbench/internal/testutil/realstack"
)

func TestRealIstiodStoppedInMidRunIsNamed(t *testing.T) {
	r := silentRun{
		args:  []string{"--target", "istiod", "--istiod-binary", realstack.Binary(t, "pilot-discovery")},
		phase: "steady",
		fallSilent: func(run int) {
			for _, pid := range processesOf(t, run) {
				stop(t, pid)
			}
		},
		want: []string{"control plane answered nothing from", "10 streams open, 0 responses", "/metrics timed out"},
	}
	t.Run("ends by itself", r.endsByItself)
	t.Run("is interrupted", r.isInterrupted)
}

func TestRealAPIServerStoppedInMidRunIsNamed(t *testing.T) {
	for name, carryOut := range map[string]func(*silentRun, *testing.T){
		"ends by itself": (*silentRun).endsByItself,
		"is interrupted": (*silentRun).isInterrupted,
	} {
		t.Run(name, func(t *testing.T) {
			stack := realstack.Start(t)
			server := childNamed(t, "kube-apiserver")
			r := silentRun{
				args: []string{
					"--kubeconfig", stack.Kubeconfig,
					"--target", "istiod", "--istiod-binary", realstack.Binary(t, "pilot-discovery"),
				},
				phase: "steady", fallSilent: func(int) { stop(t, server) },
				want: []string{"API server answered nothing from", "writes unanswered", "left on the API server", "xdsbench clean --kubeconfig " + stack.Kubeconfig},
			}
			carryOut(&r, t)
			if err := syscall.Kill(server, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := command(t.Context(), "clean", "--kubeconfig", stack.Kubeconfig)
			t.Logf("clean: %s%s", stdout, stderr)
			if code != exitDone {
				t.Errorf("clean: exit %d", code)
			}
		})
	}
}

// childNamed returns this process's child that runs a program.
func childNamed(t *testing.T, program string) int {
	t.Helper()
	for _, pid := range processesOf(t, os.Getpid()) {
		if p, err := procfs.NewProc(pid); err == nil {
			if name, err := p.Comm(); err == nil && name == program {
				return pid
			}
		}
	}
	t.Fatalf("no child %s", program)
	return 0
}
