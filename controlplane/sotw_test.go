package controlplane_test

import (
	"maps"
	"slices"
	"testing"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const webTCP = "outbound|9000||web.shop.svc.cluster.local"

// subscribeSotw opens a stream that has fetched and acknowledged everything.
func subscribeSotw(t *testing.T, p *plane) *sotwClient {
	t.Helper()
	c := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, cds)
	c.ack(t, c.want(t, cds))
	c.ask(t, eds, webHTTP, webTCP)
	c.ack(t, c.want(t, eds), webHTTP, webTCP)
	c.ask(t, lds)
	c.ack(t, c.want(t, lds))
	c.ask(t, rds, "80")
	c.ack(t, c.want(t, rds), "80")
	return c
}

func TestSotwEndpointChangePushesOnlyTheChangedCluster(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeSotw(t, p)
	p.updateSlice(t, makeSlice("shop", "web", "web-1", ready("10.0.0.1"), ready("10.0.0.7")))
	r := c.want(t, eds)
	got := assignments(t, r.GetResources())
	equalStrings(t, "clusters", slices.Collect(maps.Keys(got)), []string{webHTTP})
	equalStrings(t, "endpoints", describe(got[webHTTP]), []string{"/ 10.0.0.1:8080 HEALTHY", "/ 10.0.0.7:8080 HEALTHY"})
	c.ack(t, r, webHTTP, webTCP)
	wantSilence(t, c.incoming)
}

func TestSotwTerminatingEndpointIsRemoved(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeSotw(t, p)
	p.updateSlice(t, makeSlice("shop", "web", "web-1", terminating("10.0.0.1"), ready("10.0.0.7")))
	got := assignments(t, c.want(t, eds).GetResources())
	equalStrings(t, "endpoints", describe(got[webHTTP]), []string{"/ 10.0.0.7:8080 HEALTHY"})
	// Its removal afterwards is no news.
	p.updateSlice(t, makeSlice("shop", "web", "web-1", ready("10.0.0.7")))
	wantSilence(t, c.incoming)
}

func TestChangesThatNoProxySeesPushNothing(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeSotw(t, p)
	before := p.metric(t, "pilot_xds_pushes")
	slice, err := p.client.DiscoveryV1().EndpointSlices("shop").Get(t.Context(), "web-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slice.Annotations = map[string]string{"endpoints.kubernetes.io/last-change-trigger-time": "now"}
	p.updateSlice(t, slice)
	// The same endpoints, spread over two slices.
	moved := slice.DeepCopy()
	moved.Name, moved.Endpoints = "web-2", moved.Endpoints[:1]
	p.createSlice(t, moved)
	wantSilence(t, c.incoming)
	if after := p.metric(t, "pilot_xds_pushes"); after != before {
		t.Errorf("pushes went from %v to %v", before, after)
	}
}

func TestSotwNewServicePushesAllTypesInOrder(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeSotw(t, p)
	p.createService(t, makeService("shop", "cart", "10.96.0.5", httpPort()))
	if got := clusters(t, c.want(t, cds).GetResources()); got[cart] == nil || got[webHTTP] == nil {
		t.Error("CDS after a new service does not hold all clusters")
	}
	c.want(t, lds) // no EDS between: the proxy has not subscribed to the new cluster
	if got := routes(t, c.want(t, rds).GetResources()); len(got["80"].GetVirtualHosts()) != 3 {
		t.Errorf("RDS has virtual hosts %v", got["80"].GetVirtualHosts())
	}
	wantSilence(t, c.incoming)
}

const cart = "outbound|80||cart.shop.svc.cluster.local"

func TestFirstEndpointsOfAServiceAreAFullPushAndRefillingIsNot(t *testing.T) {
	p := startPlane(t, nil, append(small(), makeService("shop", "cart", "10.96.0.5", httpPort()))...)
	c := subscribeSotw(t, p)
	c.send(t, &discovery.DiscoveryRequest{TypeUrl: eds, ResourceNames: []string{webHTTP, webTCP, cart}, ResponseNonce: "2"})
	c.ack(t, c.want(t, eds), webHTTP, webTCP, cart)

	p.createSlice(t, makeSlice("shop", "cart", "cart-1", ready("10.0.1.1")))
	c.ack(t, c.want(t, cds))
	r := c.want(t, eds)
	equalStrings(t, "clusters", slices.Collect(maps.Keys(assignments(t, r.GetResources()))), []string{cart})
	c.ack(t, r, webHTTP, webTCP, cart)
	c.ack(t, c.want(t, lds))
	c.ack(t, c.want(t, rds), "80")

	p.updateSlice(t, makeSlice("shop", "cart", "cart-1"))
	r = c.want(t, eds)
	if a := assignments(t, r.GetResources())[cart]; len(a.GetEndpoints()) != 0 {
		t.Errorf("emptied service has %v", a)
	}
	c.ack(t, r, webHTTP, webTCP, cart)
	p.updateSlice(t, makeSlice("shop", "cart", "cart-1", ready("10.0.1.2")))
	c.want(t, eds)
	wantSilence(t, c.incoming)
}

func TestSotwDeletedServiceLeavesCDS(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeSotw(t, p)
	p.deleteService(t, "shop", "web")
	if got := clusters(t, c.want(t, cds).GetResources()); got[webHTTP] != nil || len(got) != 5 {
		t.Errorf("clusters after the deletion: %v", slices.Sorted(maps.Keys(got)))
	}
	if got := listeners(t, c.want(t, lds).GetResources()); got["0.0.0.0_80"] != nil {
		t.Error("the listener of the last HTTP service stays")
	}
	c.want(t, rds)
}

func TestSotwNewNamesAreAnsweredAtOnceAndAlone(t *testing.T) {
	// A debounce that never fires proves that no push is involved.
	p := startPlane(t, map[string]string{"PILOT_DEBOUNCE_AFTER": "1h", "PILOT_DEBOUNCE_MAX": "1h"}, small()...)
	c := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, eds, webHTTP)
	first := c.want(t, eds)
	c.ack(t, first, webHTTP)
	c.ack(t, first, webHTTP, webTCP)
	r := c.want(t, eds)
	equalStrings(t, "clusters", slices.Collect(maps.Keys(assignments(t, r.GetResources()))), []string{webTCP})
	c.ack(t, r, webHTTP, webTCP)
	c.ack(t, r, webTCP) // fewer names need no answer
	wantSilence(t, c.incoming)
}

func TestSotwRequestWithAnOldNonceIsIgnored(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, eds, webHTTP)
	first := c.want(t, eds)
	c.ack(t, first, webHTTP, webTCP)
	c.want(t, eds)
	c.ack(t, first, webHTTP, "outbound|5432||db.data.svc.cluster.local")
	wantSilence(t, c.incoming)
}

func TestSotwNackIsCountedAndNotSentAgainUntilTheNextChange(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeSotw(t, p)
	p.updateSlice(t, makeSlice("shop", "web", "web-1", ready("10.0.0.7")))
	r := c.want(t, eds)
	c.send(t, &discovery.DiscoveryRequest{
		TypeUrl: eds, ResourceNames: []string{webHTTP, webTCP}, ResponseNonce: r.GetNonce(), VersionInfo: "old",
		ErrorDetail: &rpcstatus.Status{Code: 13, Message: "no such thing"},
	})
	wantSilence(t, c.incoming)
	if n := p.metric(t, "pilot_total_xds_rejects", "type=eds"); n != 1 {
		t.Errorf("pilot_total_xds_rejects is %v, want 1", n)
	}
	if n := p.metric(t, "pilot_xds_eds_reject", "node=web-a.shop", "err=Internal"); n != 1 {
		t.Errorf("pilot_xds_eds_reject is %v, want 1", n)
	}
	if n := p.metric(t, "pilot_xds_cds_reject"); n != 0 {
		t.Errorf("pilot_xds_cds_reject is %v, want 0", n)
	}
	p.updateSlice(t, makeSlice("shop", "web", "web-1", ready("10.0.0.8")))
	got := assignments(t, c.want(t, eds).GetResources())
	equalStrings(t, "endpoints", describe(got[webHTTP]), []string{"/ 10.0.0.8:8080 HEALTHY"})
}

func TestSotwLateClustersAreFollowedByTheirEndpoints(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, eds, webHTTP)
	c.ack(t, c.want(t, eds), webHTTP)
	c.ask(t, cds)
	c.want(t, cds)
	c.want(t, eds)
}

func TestMissingNodeIsRefused(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := p.sotw(t, nil)
	c.ask(t, cds)
	if _, open := <-c.incoming; open {
		t.Error("a request without node was answered")
	}
}
