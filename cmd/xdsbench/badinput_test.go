package main

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestBadInputIsRefusedWithOneClearLinePerProblem(t *testing.T) {
	closed, kubeconfig := closedAddress(t), fakeCluster(t)
	existing := t.TempDir()
	crashing := script(t, "echo starting up; echo 'FATAL: no such registry' >&2; exit 3")
	tests := map[string]struct {
		args []string
		code int
		want []string
	}{
		"unknown profile":      {[]string{"run", "quickstrat"}, exitUsage, []string{`"quickstrat"`, "quickstart"}},
		"unknown field":        {[]string{"run", "--set", "mesh.servces=3", "--set", "mesh.prots=1"}, exitUsage, []string{"mesh.servces", "mesh.prots"}},
		"unknown flag":         {[]string{"run", "--proxis", "3"}, exitUsage, []string{"--proxis", "--help"}},
		"unknown command":      {[]string{"rnu"}, exitUsage, []string{`"rnu"`}},
		"two profiles":         {[]string{"run", "smoke", "steady"}, exitUsage, []string{"--help"}},
		"unknown format":       {[]string{"run", "--format", "xml"}, exitUsage, []string{"xml", "markdown"}},
		"negative rate":        {[]string{"run", "--rate", "-4/s"}, exitUsage, []string{"-4/s", "negative"}},
		"negative churn rate":  {[]string{"run", "--set", "churn[0].rate=-4/s"}, exitUsage, []string{"-4/s", "negative"}},
		"zero proxies":         {[]string{"run", "--proxies", "0"}, exitUsage, []string{"proxies.count: 0"}},
		"two at once":          {[]string{"run", "--proxies", "-1", "--set", "mesh.services=0"}, exitUsage, []string{"proxies.count: -1", "mesh.services: 0"}},
		"too many proxies":     {[]string{"run", "--proxies", "2000000000"}, exitUsage, []string{"proxies.count: 2000000000: must be at most"}},
		"too few ports":        {[]string{"run", "--proxies", "100000", "--set", "proxies.sourceAddresses=[127.0.0.1]", "-o", out(t)}, exitUsage, []string{"ephemeral ports: 100000 needed", "allowed"}},
		"unknown SLO":          {[]string{"run", "--set", "slo.propagation.p98=2s"}, exitUsage, []string{"propagation.p98"}},
		"context alone":        {[]string{"run", "--context", "prod"}, exitUsage, []string{"--kubeconfig"}},
		"missing profile file": {[]string{"run", "-f", "no/such.yaml"}, exitUsage, []string{"no/such.yaml"}},
		"existing folder":      {[]string{"run", "smoke", "-o", existing}, exitUsage, []string{existing, "already exists", "-o"}},
		"unwritable folder":    {[]string{"run", "smoke", "-o", "/proc/nowhere/out"}, exitUsage, []string{"/proc/nowhere", "-o"}},
		"missing kubeconfig":   {[]string{"run", "smoke", "--kubeconfig", "no/kubeconfig", "-o", out(t)}, exitFailed, []string{"no/kubeconfig"}},
		"no istiod":            {[]string{"run", "smoke", "--target", "istiod", "--istiod-binary", "no/pilot-discovery", "-o", out(t)}, exitFailed, []string{"no/pilot-discovery"}},
		"crashing istiod":      {[]string{"run", "smoke", "--target", "istiod", "--istiod-binary", crashing, "-o", out(t)}, exitFailed, []string{"FATAL: no such registry", "exit status 3"}},
		"refusing address":     {[]string{"run", "smoke", "--target", "external", "--xds-address", closed, "--kubeconfig", kubeconfig, "-o", out(t)}, exitFailed, []string{closed, "refused"}},
		"external alone":       {[]string{"run", "smoke", "--target", "external", "--xds-address", closed}, exitUsage, []string{"--kubeconfig", "fakekube"}},
		"no result":            {[]string{"report", existing}, exitUsage, []string{existing, "result"}},
		"clean without target": {[]string{"clean"}, exitUsage, []string{"--kubeconfig"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			code, stdout, stderr := command(t.Context(), append(test.args, quietFor(test.args)...)...)
			if code != test.code {
				t.Errorf("exit %d, want %d", code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr does not say %q", want)
				}
			}
			for line := range strings.Lines(stderr) {
				if !strings.HasPrefix(line, "xdsbench: ") {
					t.Errorf("a line that is no message: %q", line)
				}
			}
			if after := runtime.NumGoroutine(); after > before+2 {
				t.Errorf("%d goroutines before, %d after", before, after)
			}
			if t.Failed() {
				t.Logf("stdout: %s\nstderr: %s", stdout, stderr)
			}
		})
	}
	if entries, err := os.ReadDir(existing); err != nil || len(entries) > 0 {
		t.Errorf("the existing folder was written to: %v %v", entries, err)
	}
}

func TestProfilesCheckListsAllProblemsOfAllStagesWithTheirPlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	text := "proxies:\n  count: many\nslo:\n  propagation.p98: 2s\nmesh: {servces: 3, ports: 99}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := command(t.Context(), "profiles", "check", file)
	if code != exitUsage {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{
		`: proxies.count: line 2, column 10: "many" is not a whole number`,
		`: slo.propagation.p98: line 4, column 20: `,
		`: mesh.servces: line 5, column 8: unknown field: did you mean mesh.services?`,
		`: mesh.ports: line 5, column 27: 99: must be at most`,
	} {
		if !strings.Contains(stderr, "xdsbench: "+file+want) {
			t.Errorf("no %q in:\n%s", want, stderr)
		}
	}
}

func TestProfilesCheckLooksAtTheProfileAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(file, []byte("proxies: {count: 100000, sourceAddresses: [127.0.0.1]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := command(t.Context(), "profiles", "check", file); code != exitDone || !strings.Contains(stdout, "valid") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// quietFor adds --quiet to runs.
func quietFor(args []string) []string {
	if args[0] == "run" {
		return []string{"--quiet"}
	}
	return nil
}

func TestControlPlaneThatNeverGetsReadyIsReportedWithItsLog(t *testing.T) {
	t.Parallel()
	// It accepts connections and then says nothing.
	l := listener(t)
	dir := out(t)
	code, _, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", dir,
		"--target", "external", "--xds-address", l.Addr().String(), "--kubeconfig", fakeCluster(t), "--set", "phases.readyTimeout=2s")
	if code != exitFailed || !strings.Contains(stderr, "0 of 20 ready after 2s") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// listener accepts connections on loopback and never answers.
func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// closedAddress returns an address that nobody listens on.
func closedAddress(t *testing.T) string {
	t.Helper()
	l := listener(t)
	_ = l.Close()
	return l.Addr().String()
}

// script writes an executable shell script.
func script(t *testing.T, body string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}
