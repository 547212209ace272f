package controlplane_test

import (
	"maps"
	"slices"
	"testing"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// subscribeDelta opens a stream that has fetched and acknowledged everything.
func subscribeDelta(t *testing.T, p *plane) *deltaClient {
	t.Helper()
	c := p.delta(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, cds)
	c.ack(t, c.want(t, cds))
	c.ask(t, eds, webHTTP, webTCP)
	c.ack(t, c.want(t, eds))
	c.ask(t, lds)
	c.ack(t, c.want(t, lds))
	c.ask(t, rds, "80")
	c.ack(t, c.want(t, rds))
	return c
}

func TestDeltaEndpointChangePushesOnlyTheChangedCluster(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeDelta(t, p)
	p.updateSlice(t, makeSlice("shop", "web", "web-1", ready("10.0.0.1"), ready("10.0.0.7")))
	r := c.want(t, eds)
	got := assignments(t, unwrap(t, r.GetResources()))
	equalStrings(t, "clusters", slices.Collect(maps.Keys(got)), []string{webHTTP})
	c.ack(t, r)
	wantSilence(t, c.incoming)
}

func TestDeltaServiceChangesSendChangedClustersAndRemovals(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeDelta(t, p)
	p.createService(t, makeService("shop", "cart", "10.96.0.5", httpPort(), tcpPort(9000)))
	r := c.want(t, cds)
	equalStrings(t, "clusters", deltaNames(r.GetResources()), []string{cart, "outbound|9000||cart.shop.svc.cluster.local"})
	equalStrings(t, "removed", r.GetRemovedResources(), nil)
	clusters(t, unwrap(t, r.GetResources()))
	c.ack(t, r)
	c.ask(t, eds, cart)
	c.ack(t, c.want(t, lds))
	c.ack(t, c.want(t, rds))
	r = c.want(t, eds)
	equalStrings(t, "endpoints", deltaNames(r.GetResources()), []string{cart})
	c.ack(t, r)

	p.deleteService(t, "shop", "cart")
	r = c.want(t, cds)
	equalStrings(t, "clusters", deltaNames(r.GetResources()), nil)
	equalStrings(t, "removed clusters", r.GetRemovedResources(), []string{cart, "outbound|9000||cart.shop.svc.cluster.local"})
	r = c.want(t, eds)
	equalStrings(t, "removed endpoints", r.GetRemovedResources(), []string{cart})
	r = c.want(t, lds)
	equalStrings(t, "removed listeners", r.GetRemovedResources(), []string{"10.96.0.5_9000"})
	c.want(t, rds)
	wantSilence(t, c.incoming)
}

func TestDeltaChangedServiceResendsItsEndpoints(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeDelta(t, p)
	web := makeService("shop", "web", "10.96.0.1", httpPort())
	if _, err := p.client.CoreV1().Services("shop").Update(t.Context(), web, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	r := c.want(t, cds)
	equalStrings(t, "clusters", deltaNames(r.GetResources()), []string{webHTTP})
	// Without its selector the service leads to no workload any more.
	equalStrings(t, "removed", r.GetRemovedResources(), []string{webTCP, "inbound|8080||", "inbound|9000||"})
	r = c.want(t, eds)
	equalStrings(t, "endpoints", deltaNames(r.GetResources()), []string{webHTTP})
	equalStrings(t, "removed endpoints", r.GetRemovedResources(), []string{webTCP})
}

func TestDeltaNackIsCountedAndNotSentAgain(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := p.delta(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, cds)
	r := c.want(t, cds)
	c.send(t, &discovery.DeltaDiscoveryRequest{
		TypeUrl: cds, ResponseNonce: r.GetNonce(), ErrorDetail: &rpcstatus.Status{Code: 13, Message: "no"},
	})
	wantSilence(t, c.incoming)
	if n := p.metric(t, "pilot_total_xds_rejects", "type=cds"); n != 1 {
		t.Errorf("pilot_total_xds_rejects is %v, want 1", n)
	}
}

func TestDeltaReconnectIsNotSentWhatItKnows(t *testing.T) {
	p := startPlane(t, nil, small()...)
	first := p.delta(t, nodeOf("10.0.0.1", "web-a", "shop"))
	first.ask(t, cds)
	known := map[string]string{"outbound|80||gone.shop.svc.cluster.local": "1"}
	for _, r := range first.want(t, cds).GetResources() {
		known[r.GetName()] = r.GetVersion()
	}
	known[webTCP] = "older"
	second := p.delta(t, nodeOf("10.0.0.1", "web-a", "shop"))
	second.send(t, &discovery.DeltaDiscoveryRequest{TypeUrl: cds, InitialResourceVersions: known})
	r := second.want(t, cds)
	equalStrings(t, "clusters", deltaNames(r.GetResources()), []string{webTCP})
	equalStrings(t, "removed", r.GetRemovedResources(), []string{"outbound|80||gone.shop.svc.cluster.local"})
}

func TestDeltaReconnectWithEverythingGetsAnEmptyAnswerForClusters(t *testing.T) {
	p := startPlane(t, nil, small()...)
	first := p.delta(t, nodeOf("10.0.0.1", "web-a", "shop"))
	first.ask(t, cds)
	known := make(map[string]string)
	for _, r := range first.want(t, cds).GetResources() {
		known[r.GetName()] = r.GetVersion()
	}
	second := p.delta(t, nodeOf("10.0.0.1", "web-a", "shop"))
	second.send(t, &discovery.DeltaDiscoveryRequest{TypeUrl: cds, InitialResourceVersions: known})
	if r := second.want(t, cds); len(r.GetResources())+len(r.GetRemovedResources()) != 0 {
		t.Errorf("got %v", r)
	}
}

func TestDeltaNameSubscribedAgainIsSentAgain(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeDelta(t, p)
	c.ask(t, eds, webHTTP)
	equalStrings(t, "endpoints", deltaNames(c.want(t, eds).GetResources()), []string{webHTTP})
}

func TestDeltaUnsubscribedClusterIsNotPushed(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeDelta(t, p)
	c.send(t, &discovery.DeltaDiscoveryRequest{TypeUrl: eds, ResourceNamesUnsubscribe: []string{webHTTP}})
	// A round trip, so that the request has been handled.
	c.ask(t, eds, webTCP)
	c.ack(t, c.want(t, eds))
	p.updateSlice(t, makeSlice("shop", "web", "web-1", ready("10.0.0.7")))
	wantSilence(t, c.incoming)
}

func TestDeltaLateClustersAreFollowedByTheirEndpoints(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := p.delta(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, eds, webHTTP)
	c.ack(t, c.want(t, eds))
	c.ask(t, cds)
	c.want(t, cds)
	equalStrings(t, "endpoints", deltaNames(c.want(t, eds).GetResources()), []string{webHTTP})
}

func TestPodThatAppearsGivesItsProxyInboundClusters(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := p.delta(t, nodeOf("10.0.0.50", "web-z", "shop"))
	c.ask(t, cds)
	c.ack(t, c.want(t, cds))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-z", Labels: map[string]string{"app": "web"}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.50"},
	}
	if _, err := p.client.CoreV1().Pods("shop").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	equalStrings(t, "clusters", deltaNames(c.want(t, cds).GetResources()), []string{"inbound|8080||", "inbound|9000||"})
	if n := p.metric(t, "pilot_push_triggers", "type=proxy"); n != 1 {
		t.Errorf("pilot_push_triggers{type=proxy} is %v, want 1", n)
	}
}
