package main

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/xdsbench/xdsbench/result/verdict"
)

// Two servers behind one fleet, one of which ignores every update: the verdict names
// it, and the figures of the two show it.
func TestADeafReplicaIsNamed(t *testing.T) {
	t.Parallel()
	p := startPeers(t)
	var deaf atomic.Bool
	relay := p.adsThat(t, func(string, []byte) bool { return deaf.Load() })
	dir := out(t)
	c, output := start(t, small(dir, "5s",
		"--target", "external", "--xds-address", p.xds+","+relay, "--kubeconfig", p.kubeconfig)...)
	awaitText(t, output, "warm up")
	deaf.Store(true)
	if code := exitCode(t, c); code != exitDefects {
		t.Fatalf("exit %d, want %d:\n%s", code, exitDefects, output)
	}
	r := load(t, dir)
	replicas := r.ControlPlane.Replicas
	if len(replicas) != 2 {
		t.Fatalf("%d replicas in the result", len(replicas))
	}
	hearing, dull := replicas[0], replicas[1]
	if *hearing.Undelivered != 0 || *hearing.Deliveries == 0 || hearing.P99 == nil || *hearing.Diverged != 0 {
		t.Errorf("the first replica: %d of its pairs undelivered, %d delivered, %d diverged", *hearing.Undelivered, *hearing.Deliveries, *hearing.Diverged)
	}
	if *dull.Deliveries != 0 || *dull.Undelivered == 0 || dull.P99 != nil || *dull.Diverged == 0 {
		t.Errorf("the second replica: %d of its pairs undelivered, %d delivered, %d diverged", *dull.Undelivered, *dull.Deliveries, *dull.Diverged)
	}
	if r.Verdict != verdict.Defects || !strings.Contains(strings.Join(r.Reasons, "\n"), "replica 1 ") {
		t.Errorf("verdict %s, reasons %q: the deaf replica is not named", r.Verdict, r.Reasons)
	}
	if s := r.Propagation; s.Undelivered != *dull.Undelivered || s.Deliveries != *hearing.Deliveries {
		t.Errorf("the replicas' pairs do not add up to %d delivered and %d undelivered", s.Deliveries, s.Undelivered)
	}
}
