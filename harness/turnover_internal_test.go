package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/node"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/profiles"
)

// planned plans the turnover of a rollout of 10 pods and a scale-down, with a fleet of
// which half are routers.
func planned(t *testing.T, spec fakeproxy.Turnover) (*turnover, []mesh.Pod, []string) {
	t.Helper()
	cfg := mesh.Config{Spec: profiles.Default().Mesh, Proxies: 20, Seed: 1, RunID: "r"}
	cfg.Namespaces, cfg.Services, cfg.EndpointsPerService = 2, 2, 10
	m, err := mesh.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	specs := []churn.Spec{{Kind: "rolling-update", Count: 1, MaxSurge: 2, Target: "hot"}}
	schedule, err := churn.Plan(specs, m, time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	kinds := node.Shares{node.Sidecar: 1, node.Router: 1}.Of(len(m.Proxies))
	return planTurnover(spec, schedule, m.Proxies, kinds), m.Proxies, kinds
}

func TestTurnoverOfAShareOfThePodsIsOfItsKindAndNamespaceFirst(t *testing.T) {
	// All routers of this fleet are in the other namespace than the service.
	for kind, namespace := range map[string]string{"": "xb-0", node.Router: "xb-1"} {
		plan, pods, kinds := planned(t, fakeproxy.Turnover{Share: 0.5, Kind: kind})
		joins, leaves := 0, 0
		var last time.Duration
		for _, x := range plan.turns {
			if x.at < last {
				t.Errorf("%+v comes after one at %s", x, last)
			}
			last = x.at
			if x.join {
				if x.proxy != len(pods)+joins {
					t.Errorf("proxy %d joins as number %d", x.proxy, joins)
				}
				joins++
				continue
			}
			leaves++
			want := fakeproxy.Turnover{Kind: kind}.KindOf()
			if kinds[x.proxy] != want || pods[x.proxy].Namespace != namespace || x.pod != &pods[x.proxy] {
				t.Errorf("proxy %d, a %s of %s, leaves: want a %s of %s", x.proxy, kinds[x.proxy], pods[x.proxy].Namespace, want, namespace)
			}
		}
		if joins != 5 || leaves != 5 || len(plan.joiners) != 5 || len(plan.warnings) != 0 {
			t.Errorf("%d joins, %d leaves, %q: want half of 10 pods", joins, leaves, plan.warnings)
		}
	}
}

func TestTurnoverWithoutEnoughProxiesSaysSo(t *testing.T) {
	plan, _, _ := planned(t, fakeproxy.Turnover{Share: 1, Kind: node.Ztunnel})
	if text := strings.Join(plan.warnings, "\n"); !strings.Contains(text, "10 pods went without a proxy") || len(plan.joiners) != 10 {
		t.Errorf("warnings %q", text)
	}
	if none, _, _ := planned(t, fakeproxy.Turnover{}); len(none.turns) != 0 || !none.over() {
		t.Errorf("%d turns without turnover", len(none.turns))
	}
}
