package controlplane_test

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// peersSlice are endpoints of the headless service peers.
func peersSlice(endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	slice := makeSlice("data", "peers", "peers-1", endpoints...)
	slice.Ports = []discoveryv1.EndpointPort{{Name: new("tcp"), Port: new(int32(7000))}}
	return slice
}

func withPeers() []runtime.Object {
	return append(small(), peersSlice(ready("10.1.0.1"), unready("10.1.0.2")))
}

var headlessListeners = []string{
	"0.0.0.0_80", "10.1.0.1_7000", "10.96.0.1_9000", "10.96.0.2_5432", "virtualInbound", "virtualOutbound",
}

func TestSotwPodOfAHeadlessServiceIsAListener(t *testing.T) {
	p := startPlane(t, nil, withPeers()...)
	c := subscribeSotw(t, p)
	p.updateSlice(t, peersSlice(ready("10.1.0.1"), ready("10.1.0.3")))
	c.ack(t, c.want(t, cds))
	r := c.want(t, lds)
	want := slices.Sorted(slices.Values(append(slices.Clone(headlessListeners), "10.1.0.3_7000")))
	equalStrings(t, "listeners", slices.Sorted(maps.Keys(listeners(t, r.GetResources()))), want)
	c.ack(t, r)
	c.ack(t, c.want(t, rds), "80")
	p.updateSlice(t, peersSlice(ready("10.1.0.1")))
	c.want(t, cds)
	equalStrings(t, "listeners", slices.Sorted(maps.Keys(listeners(t, c.want(t, lds).GetResources()))), headlessListeners)
	if n := p.metric(t, "pilot_push_triggers", "type=headlessendpoint"); n != 2 {
		t.Errorf("pilot_push_triggers{type=headlessendpoint} is %v, want 2", n)
	}
}

func TestDeltaPodOfAHeadlessServiceIsAListener(t *testing.T) {
	p := startPlane(t, nil, withPeers()...)
	c := subscribeDelta(t, p)
	p.updateSlice(t, peersSlice(ready("10.1.0.3")))
	c.ack(t, c.want(t, cds))
	r := c.want(t, lds)
	want := slices.Clone(headlessListeners)
	want[1] = "10.1.0.3_7000"
	equalStrings(t, "listeners", deltaNames(r.GetResources()), want)
	equalStrings(t, "removed", r.GetRemovedResources(), []string{"10.1.0.1_7000"})
	c.want(t, rds)
	wantSilence(t, c.incoming)
}

func TestPodOfAHeadlessHTTPServicePushesNothing(t *testing.T) {
	objects := withPeers()
	objects = slices.DeleteFunc(objects, func(o runtime.Object) bool {
		s, ok := o.(*corev1.Service)
		return ok && s.Name == "peers"
	})
	objects = append(objects, makeService("data", "peers", corev1.ClusterIPNone, httpPort()))
	p := startPlane(t, nil, objects...)
	c := subscribeSotw(t, p)
	p.updateSlice(t, peersSlice(ready("10.1.0.3")))
	wantSilence(t, c.incoming)
}
