package profiles_test

import (
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/profiles"
)

func TestScaleMultipliesFleetAndMeshAndIsThenGone(t *testing.T) {
	t.Parallel()
	p, err := profiles.Load("quickstart", []string{"scale=0.1"})
	if err != nil {
		t.Fatal(err)
	}
	if p.Proxies.Count != 20 || p.Mesh.Services != 10 || p.Proxies.ConnectRate != 10 || p.Churn[0].Rate != 2 || p.Scale != nil {
		t.Errorf("%d proxies at %v, %d services, churn %v, scale %v", p.Proxies.Count, p.Proxies.ConnectRate, p.Mesh.Services, p.Churn[0].Rate, p.Scale)
	}
	if p, err = profiles.Load("namespaces-mixed", []string{"scale=0.001"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Mesh.Classes {
		if c.Services != 1 {
			t.Errorf("classes %+v: none may vanish", p.Mesh.Classes)
		}
	}
	if p.Proxies.Count != 1 {
		t.Errorf("%d proxies", p.Proxies.Count)
	}
}

func TestImpossibleScalesAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"0", "-1", ".nan", "1e9"} {
		if _, err := profiles.Load("quickstart", []string{"scale=" + s}); err == nil || !strings.Contains(err.Error(), "scale: ") {
			t.Errorf("scale=%s: %v", s, err)
		}
	}
}
