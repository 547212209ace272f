package main

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/rows"
)

func TestConnectionsMoveToTheReplicaThatIsLeftAndTheBooksStillAgree(t *testing.T) {
	t.Parallel()
	dir := out(t)
	code, stdout, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", dir, "--duration", "3s",
		"--set", "target.replicas=2", "--set", "target.outage.replica=[0]",
		"--set", "target.outage.at=500ms", "--set", "target.outage.for=1500ms", "--set", "proxies.reconnect.max=500ms")
	if code != exitDone {
		t.Fatalf("exit %d:\n%s%s", code, stdout, stderr)
	}
	r := load(t, dir)
	checkSound(t, r)
	checkReplicas(t, dir, r, 0)
	if o := r.Outages[0]; o.Held != nil {
		t.Errorf("held while a replica was left: %+v", o.Held)
	}
	for _, want := range []string{"replica 0 gone at", "Replicas", r.ControlPlane.Replicas[1].Address} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
}

func TestKilledReplicaIsReportedAndStartedAgainWhileTheOtherServes(t *testing.T) {
	t.Parallel()
	dir := out(t)
	c, output := start(t, "run", "smoke", "-o", dir, "--duration", "4s",
		"--set", "target.replicas=2", "--set", "target.balance=random", "--set", "proxies.reconnect.max=500ms")
	awaitText(t, output, "steady")
	processes := processesOf(t, c.Process.Pid)
	if len(processes) != 2 {
		t.Fatalf("processes %v, want one per replica", processes)
	}
	if err := syscall.Kill(processes[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, c); code != exitDone {
		t.Fatalf("exit %d:\n%s", code, output)
	}
	r := load(t, dir)
	checkSound(t, r)
	if len(r.Outages) != 1 || r.Outages[0].Planned || len(r.Outages[0].Replicas) != 1 || r.Outages[0].ProxiesAway == nil {
		t.Fatalf("outages: %+v", r.Outages)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "target: replica ") && strings.Contains(w, "exited") }) {
		t.Errorf("no warning of the exit in %q", r.Warnings)
	}
	restarted := r.ControlPlane.Replicas[r.Outages[0].Replicas[0]]
	if n := r.Proxies.Disconnects; n == 0 || n >= 20 || !restarted.Restarted {
		t.Errorf("disconnects %d, replica %+v", n, restarted)
	}
}

// checkReplicas checks what a run with two replicas says of them, of which one was
// taken down and came back.
func checkReplicas(t *testing.T, dir string, r *result.Result, victim int) {
	t.Helper()
	if len(r.Outages) != 1 || len(r.ControlPlane.Replicas) != 2 {
		t.Fatalf("outages %+v, replicas %+v", r.Outages, r.ControlPlane.Replicas)
	}
	o, all := r.Outages[0], r.Proxies.Requested
	if !o.Planned || !slices.Equal(o.Replicas, []int{victim}) || o.Seconds == nil || o.ProxiesAway == nil {
		t.Errorf("outage: %+v", o)
	}
	gone, left := r.ControlPlane.Replicas[victim], r.ControlPlane.Replicas[1-victim]
	if gone.ConnectionsAtSteadyStart != all/2 || left.ConnectionsAtSteadyStart != all/2 {
		t.Errorf("not spread evenly at first: %+v", r.ControlPlane.Replicas)
	}
	if gone.ConnectionsMin != 0 || !gone.Restarted || left.Restarted || gone.CPUSeconds == nil || *gone.CPUSeconds <= 0 {
		t.Errorf("the one taken down: %+v, the other: %+v", gone, left)
	}
	// Those whose back-off outlasted the outage may choose either.
	if gone.ConnectionsAtEnd+left.ConnectionsAtEnd != all || left.ConnectionsAtEnd <= gone.ConnectionsAtEnd {
		t.Errorf("connections at the end: %+v", r.ControlPlane.Replicas)
	}
	if left.Pushes == nil || *left.Pushes != left.Responses {
		t.Errorf("pushes and responses of the one left: %+v", left)
	}
	if s := r.ControlPlane.ProxyStatus; s == nil || s.Proxies != all || s.Stale != 0 {
		t.Errorf("proxy status: %+v", s)
	}
	if i := slices.IndexFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "cross-check") }); i >= 0 {
		t.Error(r.Warnings[i])
	}
	checkConnections(t, filepath.Join(dir, rows.TimelineFile))
}

// checkConnections checks that the connections per replica in each line of a
// timeline add up to about those of all: the counts are read one after the other.
func checkConnections(t *testing.T, file string) {
	t.Helper()
	rows := readCSV(t, file)
	number := func(row []string, column string) int {
		i := slices.Index(rows[0], column)
		if i < 0 {
			t.Fatalf("no column %s in %q", column, rows[0])
		}
		n, err := strconv.Atoi(row[i])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	off := 0
	for _, row := range rows[1:] {
		if number(row, "connected_0")+number(row, "connected_1") != number(row, "connected") {
			off++
		}
		t.Log(row[0], row[1], number(row, "connected_0"), number(row, "connected_1"), row[len(row)-1])
	}
	if off > 2 {
		t.Errorf("%d of %d lines do not add up", off, len(rows)-1)
	}
}
