package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/xdsbench/xdsbench/result"
)

// TestMain lets the test binary stand in for the command: runs start their
// embedded control plane from it, and tests start runs from it that they can
// interrupt.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == readyAlone {
		serveReadyAlone(os.Args[2])
	}
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
	}
	os.Exit(m.Run())
}

// lockedBuffer may be written while it is read.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// command runs one command line in this process.
func command(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(ctx, args, os.Environ(), &out, &err)
	return code, out.String(), err.String()
}

// start starts one command line as a process of its own.
func start(t *testing.T, args ...string) (*exec.Cmd, *lockedBuffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := &lockedBuffer{}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, out
}

// load reads the result that a run saved.
func load(t *testing.T, dir string) *result.Result {
	t.Helper()
	r, err := result.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readCSV returns the lines of a CSV file, the header first.
func readCSV(t *testing.T, file string) [][]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// checkSound fails the test unless everything arrived and every state is right.
func checkSound(t *testing.T, r *result.Result) {
	t.Helper()
	p, m, c, a := r.Propagation, r.Mutations, r.Convergence, r.Acks
	if p.Undelivered != 0 || p.UnknownStates != 0 || c.Diverged != 0 || c.StaleEndpoints != 0 || len(r.Errors) > 0 {
		t.Errorf("undelivered %d, unknown states %d, diverged %d, stale %d, errors %v, examples %v %v",
			p.Undelivered, p.UnknownStates, c.Diverged, c.StaleEndpoints, r.Errors, p.Examples, c.Examples)
	}
	if m.Failed != 0 || m.Incomplete != 0 || m.Applied != m.Scheduled || m.Complete+m.Noop != m.Applied {
		t.Errorf("mutations: %+v", m)
	}
	if a.NacksInvalid != 0 || a.NacksInjected != 0 {
		t.Errorf("NACKs: %+v", a)
	}
	if p.Deliveries == 0 || p.Expected != p.Deliveries+p.Interrupted+p.Retired {
		t.Errorf("the accounting does not close: %+v", p)
	}
	if r.Proxies.Ready != r.Proxies.Requested {
		t.Errorf("proxies: %+v", r.Proxies)
	}
	if len(r.Silences) > 0 {
		t.Errorf("silences: %+v", r.Silences)
	}
}

// out returns a folder for results that does not exist yet.
func out(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "out")
}
