package controlplane_test

import (
	"slices"
	"testing"

	"github.com/xdsbench/xdsbench/controlplane/faults"
)

func typed(fault, value, types string) map[string]string {
	return map[string]string{fault: value, faults.EnvTypes: types}
}

func TestLostServiceReachesNobodyUntilItsNextChange(t *testing.T) {
	t.Parallel()
	p := startPlane(t, typed(faults.EnvLost, "1", "cds"), small()...)
	sotw, delta := subscribeSotw(t, p), subscribeDelta(t, p)
	p.createService(t, makeService("shop", "cart", "10.96.0.5", httpPort()))
	if got := clusters(t, sotw.want(t, cds).GetResources()); got[cart] != nil || got[webHTTP] == nil {
		t.Errorf("SotW clusters %v", got)
	}
	sotw.want(t, lds)
	if got := routes(t, sotw.want(t, rds).GetResources())["80"].GetVirtualHosts(); len(got) != 3 {
		t.Errorf("virtual hosts %v", got)
	}
	delta.want(t, lds)
	delta.want(t, rds)
	want := []faults.LostUpdate{{Type: "cds", Cluster: cart, Update: 1}}
	if r := p.record(t); !slices.Equal(r.Lost, want) {
		t.Errorf("record %+v", r.Lost)
	}
	wantSilence(t, delta.incoming)
}

func TestLostRemovalLeavesTheClusters(t *testing.T) {
	t.Parallel()
	p := startPlane(t, typed(faults.EnvLost, "1", "cds"), small()...)
	sotw, delta := subscribeSotw(t, p), subscribeDelta(t, p)
	p.deleteService(t, "shop", "web")
	if got := clusters(t, sotw.want(t, cds).GetResources()); got[webHTTP] == nil || got[webTCP] == nil {
		t.Errorf("SotW clusters %v", got)
	}
	// The proxy's own pod has lost the service.
	r := delta.want(t, cds)
	equalStrings(t, "removed", r.GetRemovedResources(), []string{"inbound|8080||", "inbound|9000||"})
	want := []faults.LostUpdate{{Type: "cds", Cluster: webHTTP, Update: 1}, {Type: "cds", Cluster: webTCP, Update: 1}}
	if r := p.record(t); !slices.Equal(r.Lost, want) {
		t.Errorf("record %+v", r.Lost)
	}
}

func TestLostRouteAndListener(t *testing.T) {
	t.Parallel()
	p := startPlane(t, typed(faults.EnvLost, "1", "lds, rds"), small()...)
	sotw, delta := subscribeSotw(t, p), subscribeDelta(t, p)
	p.createService(t, makeService("shop", "cart", "10.96.0.5", httpPort(), tcpPort(9000)))
	if got := clusters(t, sotw.want(t, cds).GetResources()); got[cart] == nil {
		t.Errorf("SotW clusters %v", got)
	}
	equalStrings(t, "Delta clusters", outbound(deltaNames(delta.want(t, cds).GetResources())), []string{"80 cart.shop", "9000 cart.shop"})
	if got := listeners(t, sotw.want(t, lds).GetResources()); got["10.96.0.5_9000"] != nil {
		t.Error("the listener came")
	}
	if got := listeners(t, unwrap(t, delta.want(t, lds).GetResources())); got["10.96.0.5_9000"] != nil {
		t.Error("the listener came over Delta")
	}
	if got := routes(t, sotw.want(t, rds).GetResources())["80"].GetVirtualHosts(); len(got) != 2 {
		t.Errorf("virtual hosts %v", got)
	}
	if got := routes(t, unwrap(t, delta.want(t, rds).GetResources()))["80"].GetVirtualHosts(); len(got) != 2 {
		t.Errorf("virtual hosts over Delta %v", got)
	}
	want := []faults.LostUpdate{
		{Type: "lds", Cluster: "10.96.0.5_9000", Update: 1},
		{Type: "rds", Cluster: "cart.shop.svc.cluster.local:80", Update: 1},
	}
	if r := p.record(t); !slices.Equal(r.Lost, want) {
		t.Errorf("record %+v", r.Lost)
	}
}

func TestStaleRouteAndClusterRepeatTheFirstAnswer(t *testing.T) {
	t.Parallel()
	p := startPlane(t, typed(faults.EnvStale, "1", "cds,rds"), small()...)
	sotw, delta := subscribeSotw(t, p), subscribeDelta(t, p)
	p.createService(t, makeService("shop", "cart", "10.96.0.5", httpPort()))
	if got := clusters(t, sotw.want(t, cds).GetResources()); got[cart] != nil || got[webHTTP] == nil {
		t.Errorf("SotW clusters %v", got)
	}
	sotw.want(t, lds)
	delta.want(t, lds)
	if got := routes(t, sotw.want(t, rds).GetResources())["80"].GetVirtualHosts(); len(got) != 2 {
		t.Errorf("virtual hosts %v", got)
	}
	if got := routes(t, unwrap(t, delta.want(t, rds).GetResources()))["80"].GetVirtualHosts(); len(got) != 2 {
		t.Errorf("virtual hosts over Delta %v", got)
	}
	want := []faults.StaleCluster{
		{Proxy: webA, Type: "cds", Cluster: cart}, {Proxy: webA, Type: "rds", Cluster: "80"},
	}
	if r := p.record(t); !slices.Equal(r.Stale, want) {
		t.Errorf("record %+v", r.Stale)
	}
}

func TestOnlyTheAskedTypesAreDuplicatedOrUnserved(t *testing.T) {
	t.Parallel()
	p := startPlane(t, map[string]string{
		faults.EnvDuplicate: "1", faults.EnvTypes: "rds",
	}, small()...)
	c := subscribeDelta(t, p)
	p.createService(t, makeService("shop", "cart", "10.96.0.5", httpPort()))
	for _, typeURL := range []string{cds, lds, rds, rds} {
		c.want(t, typeURL)
	}
	wantSilence(t, c.incoming)
	if r := p.record(t); r.DuplicateResponses != 1 || r.Duplicates["rds"] != 1 {
		t.Errorf("record %+v", r)
	}

	p = startPlane(t, typed(faults.EnvUnserved, "1", "cds"), small()...)
	c = subscribeDelta(t, p)
	p.createService(t, makeService("shop", "cart", "10.96.0.5", httpPort()))
	c.want(t, lds)
	c.want(t, rds)
	if r := p.record(t); !slices.Equal(r.Unserved, []string{webA}) || r.UnservedPushes != 1 {
		t.Errorf("record %+v", r)
	}
}
