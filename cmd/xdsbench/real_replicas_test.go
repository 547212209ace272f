//go:build realstack

package main

import (
	"strings"
	"testing"
)

func TestRealIstiodReplicaStoppedAndStartedMovesConnectionsAndLosesNothing(t *testing.T) {
	dir := out(t)
	code, stdout, stderr := realCommand(t, dir, "quickstart", "--proxies", "300", "--rate", "10/s", "--duration", "40s",
		"--set", "target.replicas=2", "--set", "target.outage.replicas=1",
		"--set", "target.outage.at=8s", "--set", "target.outage.for=6s", "--set", "phases.drain=90s")
	t.Logf("\n%s%s", stdout, stderr)
	if code != exitDone {
		t.Fatalf("exit %d", code)
	}
	r := load(t, dir)
	checkSound(t, r)
	checkReplicas(t, dir, r, 1)
	checkStatus(t, r, 300)
	if n := r.Proxies.Disconnects; n != 150 {
		t.Errorf("disconnects %d, want those of the replica that was stopped: 150", n)
	}
}

func TestRealIstiodMaximumConnectionAgeEvensReplicasOut(t *testing.T) {
	dir := out(t)
	code, stdout, stderr := realCommand(t, dir, "quickstart", "--proxies", "200", "--rate", "4/s", "--duration", "40s",
		"--set", "target.replicas=2", "--set", "target.outage.replicas=1", "--set", "target.balance=random",
		"--set", "target.args=[--keepaliveMaxServerConnectionAge=15s]",
		"--set", "target.outage.at=2s", "--set", "target.outage.for=6s", "--set", "phases.drain=60s")
	t.Logf("\n%s%s", stdout, stderr)
	if code != exitDone {
		t.Fatalf("exit %d", code)
	}
	r := load(t, dir)
	checkSound(t, r)
	back := r.ControlPlane.Replicas[1]
	t.Logf("replicas: %+v", r.ControlPlane.Replicas)
	// Of 200 that choose at random between two, 65 is five standard deviations off.
	if back.ConnectionsMin != 0 || back.ConnectionsAtEnd < 65 {
		t.Errorf("the replica that came back: %+v", back)
	}
	// istiod counts the push that fails as a connection ends.
	for _, w := range r.Warnings {
		if strings.Contains(w, "cross-check") && !strings.Contains(w, "streams broke") {
			t.Error(w)
		}
	}
}
