//go:build shipped

package main

import (
	"fmt"
	"testing"

	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/target"
)

// TestEveryShippedProfileRuns runs each on the embedded control plane, with 50 proxies for
// 10 s, but those whose target is another.
func TestEveryShippedProfileRuns(t *testing.T) {
	t.Parallel()
	const proxies = 50
	more := map[string][]string{ // what ten seconds leave no room for
		"control-plane-restart": {"--set", "target.outage.at=2s", "--set", "target.outage.for=3s"},
		"reconnect-storm":       {"--set", "proxies.storms.every=6s"},
		"fifty-services":        {"--set", "churn[0].every=4s"},
		"nack-storm":            {"--allow-defects"}, // its purpose
	}
	for _, name := range profiles.Names() {
		p, err := profiles.Load(name, nil, harness.Validate)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Target.Kind != target.KindEmbedded {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := out(t)
			args := append([]string{
				"run", name, "--quiet", "-o", dir, "--duration", "10s",
				"--set", fmt.Sprintf("scale=%g", float64(proxies)/float64(p.Proxies.Count)),
			}, more[name]...)
			code, stdout, stderr := command(t.Context(), args...)
			if code != exitDone {
				t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
			}
			r := load(t, dir)
			if r.Proxies.Requested < proxies || r.Mutations.Applied == 0 {
				t.Errorf("%d proxies, %d mutations", r.Proxies.Requested, r.Mutations.Applied)
			}
		})
	}
}
