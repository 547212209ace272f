package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

func TestCtrlCSavesAPartialResultAndLeavesNothingRunning(t *testing.T) {
	dir := out(t)
	c, output := start(t, "run", "smoke", "-o", dir, "--duration", "60s")
	awaitText(t, output, "steady")
	children := processesOf(t, c.Process.Pid)
	if len(children) == 0 {
		t.Error("no control plane in a process of its own")
	}
	time.Sleep(time.Second)
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, c); code != exitInterrupted {
		t.Errorf("exit %d:\n%s", code, output)
	}
	r := load(t, dir)
	if !r.Partial || r.Propagation == nil || r.Proxies.Ready != 20 {
		t.Errorf("partial %v, proxies %+v, propagation %+v", r.Partial, r.Proxies, r.Propagation)
	}
	for _, pid := range children {
		if alive(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
}

func TestKilledControlPlaneIsReportedRestartedAndReconnectedTo(t *testing.T) {
	t.Parallel()
	dir := out(t)
	c, output := start(t, "run", "smoke", "-o", dir, "--duration", "8s")
	awaitText(t, output, "steady")
	time.Sleep(time.Second)
	for _, pid := range processesOf(t, c.Process.Pid) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if code := exitCode(t, c); code != exitDone {
		t.Fatalf("exit %d:\n%s", code, output)
	}
	r := load(t, dir)
	if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, "target: exited") || !strings.Contains(said, "signal: killed") {
		t.Errorf("no warning of the exit, with its status, in %q", r.Warnings)
	}
	if r.Proxies.Disconnects < 20 || r.Convergence.Diverged != 0 || r.Convergence.StaleEndpoints != 0 || r.Propagation.Undelivered != 0 {
		t.Errorf("proxies %+v, convergence %+v, propagation %+v", r.Proxies, r.Convergence, r.Propagation)
	}
	if r.Partial {
		t.Error("the run is marked partial, but went to its end")
	}
}

func TestControlPlaneThatCrashesIsReportedWithItsStatusAndLog(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	crashing := script(t, `"`+self+`" `+readyAlone+` "$1" & sleep 5; echo "FATAL: lost the lease"; kill -9 $!; exit 7`)
	dir := out(t)
	code, _, stderr := command(t.Context(), small(dir, "1s", "--quiet", "--target", "exec", "--exec", crashing+" {xds}", "--set", "phases.readyTimeout=10s")...)
	if code != exitFailed {
		t.Errorf("exit %d", code)
	}
	for where, said := range map[string]string{"stderr": stderr, "the warnings": strings.Join(load(t, dir).Warnings, "\n")} {
		for _, want := range []string{"exit status 7", "FATAL: lost the lease"} {
			if !strings.Contains(said, want) {
				t.Errorf("no %q in %s:\n%s", want, where, said)
			}
		}
	}
}

// awaitText waits until a process has printed the text.
func awaitText(t *testing.T, output *lockedBuffer, text string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(output.String(), text) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q in:\n%s", text, output)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// exitCode waits for a process.
func exitCode(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

// processesOf lists the children of a process.
func processesOf(t *testing.T, parent int) []int {
	t.Helper()
	all, err := procfs.AllProcs()
	if err != nil {
		t.Fatal(err)
	}
	var children []int
	for _, p := range all {
		if stat, err := p.Stat(); err == nil && stat.PPID == parent {
			children = append(children, p.PID)
		}
	}
	return children
}

// alive reports whether a process is there and no zombie.
func alive(pid int) bool {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(data), ") Z ")
}
