package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/internal/testutil/gobuild"
)

// gcpClusterName is how the test server names its EDS resources.
const gcpClusterName = "{namespace}/{service}/{port}"

func TestAnyControlPlaneCanBeMeasuredAsACommand(t *testing.T) {
	t.Parallel()
	dir := out(t)
	code, stdout, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", dir,
		"--target", "exec", "--exec", gcpServer(t)+" --kubeconfig {kubeconfig} --listen {xds}", "--clusters", gcpClusterName)
	if code != exitDone {
		t.Fatalf("exit %d:\n%s%s", code, stdout, stderr)
	}
	checkSound(t, load(t, dir))
}

func TestAnyControlPlaneCanBeMeasuredWhereItRuns(t *testing.T) {
	t.Parallel()
	kubeconfig := fakeCluster(t)
	address := closedAddress(t)
	server := exec.CommandContext(t.Context(), gcpServer(t), "--kubeconfig", kubeconfig, "--listen", address)
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	awaitListener(t, address)

	dir := out(t)
	code, stdout, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", dir, "--clusters", gcpClusterName,
		"--target", "external", "--xds-address", address, "--kubeconfig", kubeconfig)
	if code != exitDone {
		t.Fatalf("exit %d:\n%s%s", code, stdout, stderr)
	}
	checkSound(t, load(t, dir))
	if code, stdout, stderr = command(t.Context(), "clean", "--kubeconfig", kubeconfig); code != exitDone || !strings.Contains(stdout, "removed 0 ") {
		t.Errorf("the run left something behind: exit %d: %s%s", code, stdout, stderr)
	}
}

// fakeCluster starts the in-memory API server as a process of its own.
func fakeCluster(t *testing.T) (kubeconfig string) {
	t.Helper()
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	_, output := start(t, "fakekube", "--write-kubeconfig", kubeconfig)
	awaitText(t, output, "API server on")
	return kubeconfig
}

// gcpServer builds the test suite's own control plane.
func gcpServer(t *testing.T) string {
	t.Helper()
	return gobuild.Build(t, "github.com/xdsbench/xdsbench/internal/testutil/gcpserver")
}

// awaitListener waits until something accepts connections at an address.
func awaitListener(t *testing.T, address string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
