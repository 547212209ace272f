//go:build realstack

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/internal/testutil/realstack"
	"github.com/xdsbench/xdsbench/result"
)

// roughEnd is something that befalls a run at a random moment.
type roughEnd struct {
	name string
	// befall does it to the command c, whose results go to dir.
	befall func(t *testing.T, c *exec.Cmd, dir string)
	// codes are the exit codes that the command may then have; empty where it cannot
	// choose one.
	codes []int
	// leavesObjects says that the objects stay until `xdsbench clean`.
	leavesObjects bool
}

func roughEnds() []roughEnd {
	send := func(s syscall.Signal) func(*testing.T, *exec.Cmd, string) {
		return func(t *testing.T, c *exec.Cmd, _ string) {
			t.Helper()
			if err := c.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Error(err)
			}
		}
	}
	return []roughEnd{
		{"SIGINT", send(syscall.SIGINT), []int{exitInterrupted, exitDone}, false},
		{"SIGTERM", send(syscall.SIGTERM), []int{exitInterrupted, exitDone}, false},
		{"SIGKILL of the target", killTarget, []int{exitDone, exitDefects, exitFailed}, false},
		{"SIGKILL of the harness", send(syscall.SIGKILL), nil, true},
		{"full disk", fillDisk, []int{exitDone, exitFailed, exitDefects}, false},
	}
}

func killTarget(t *testing.T, c *exec.Cmd, _ string) {
	t.Helper()
	for _, pid := range processesOf(t, c.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
	}
}

// fillDisk leaves no room in the file system of the results.
func fillDisk(t *testing.T, _ *exec.Cmd, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(filepath.Dir(dir), "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return // full
		}
	}
}

// Twenty runs on a real API server that end roughly at random moments: each leaves a
// valid result or none, no process, and no object that `clean` does not remove.
func TestRealRunsThatEndRoughlyLeaveNothingBehind(t *testing.T) {
	kubeconfig := realstack.Start(t).Kubeconfig
	rng := rand.New(rand.NewPCG(1, 2))
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Fatalf("a small file system, which takes root: %v", err)
	}
	defer func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }()
	for i := range 4 {
		for _, end := range roughEnds() {
			after := time.Duration(rng.Int64N(int64(6 * time.Second)))
			t.Run(fmt.Sprintf("%s after %.1f s", end.name, after.Seconds()), func(t *testing.T) {
				end.run(t, kubeconfig, filepath.Join(disk, fmt.Sprintf("run-%d", i)), after)
			})
			clearDisk(t, disk)
		}
	}
}

func clearDisk(t *testing.T, disk string) {
	t.Helper()
	entries, err := os.ReadDir(disk)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(disk, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

func (e *roughEnd) run(t *testing.T, kubeconfig, dir string, after time.Duration) {
	t.Helper()
	c, output := start(t, "run", "smoke", "-o", dir, "--duration", "3s", "--kubeconfig", kubeconfig)
	time.Sleep(after)
	children := processesOf(t, c.Process.Pid)
	e.befall(t, c, dir)
	code := exitCode(t, c)
	t.Logf("exit %d", code)
	if len(e.codes) > 0 && !slices.Contains(e.codes, code) {
		t.Errorf("exit %d, want one of %v:\n%s", code, e.codes, output)
	}
	_, err := result.Load(dir)
	if err != nil && !errors.Is(err, result.ErrNoResult) && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a result that does not load: %v", err)
	}
	if err != nil && code == exitDone {
		t.Errorf("exit 0 without a result: %v\n%s", err, output)
	}
	deadline := time.Now().Add(10 * time.Second)
	for _, pid := range children {
		for alive(pid) && time.Now().Before(deadline) {
			time.Sleep(50 * time.Millisecond)
		}
		if alive(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	code, stdout, stderr := command(t.Context(), "clean", "--kubeconfig", kubeconfig)
	if code != exitDone {
		t.Fatalf("clean: exit %d: %s", code, stderr)
	}
	if !e.leavesObjects && !strings.Contains(stdout, "removed 0 ") {
		t.Errorf("the run left something behind: %s\n%s", stdout, output)
	}
	if _, again, _ := command(t.Context(), "clean", "--kubeconfig", kubeconfig); !strings.Contains(again, "removed 0 ") {
		t.Errorf("clean left something behind: %s", again)
	}
}
