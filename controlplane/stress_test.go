package controlplane_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const db = "outbound|5432||db.data.svc.cluster.local"

// chatty is a SotW client that acknowledges everything at once and changes its
// subscription with every other acknowledgement, so that its requests cross
// the server's pushes.
type chatty struct {
	*sotwClient
	lastCDS string // version
	nonces  int
	wide    bool
	seen    atomic.Pointer[[]string] // endpoints of web
	faults  []string
}

func (c *chatty) names() []string {
	if c.wide {
		return []string{webHTTP, webTCP, db}
	}
	return []string{webHTTP}
}

func (c *chatty) run(t *testing.T) {
	t.Helper()
	for r := range c.incoming {
		var names []string
		switch r.GetTypeUrl() {
		case cds:
			c.lastCDS = r.GetVersionInfo()
		case lds, rds:
			// All that comes after the first answers comes from full pushes.
			if c.nonces > 4 && c.lastCDS != r.GetVersionInfo() {
				c.faults = append(c.faults, fmt.Sprintf("%s of version %s after clusters of version %s",
					r.GetTypeUrl(), r.GetVersionInfo(), c.lastCDS))
			}
			if r.GetTypeUrl() == rds {
				names = []string{"80"}
			}
		case eds:
			for _, wrapped := range r.GetResources() {
				if a := assignmentOf(t, wrapped); a.GetClusterName() == webHTTP {
					list := describe(a)
					c.seen.Store(&list)
				}
			}
			c.wide = !c.wide
			names = c.names()
		}
		c.nonces++
		_ = c.stream.Send(&discovery.DiscoveryRequest{
			TypeUrl: r.GetTypeUrl(), ResourceNames: names, ResponseNonce: r.GetNonce(), VersionInfo: r.GetVersionInfo(),
		})
	}
}

func TestRequestsThatCrossPushesLoseNothingAndKeepTheOrder(t *testing.T) {
	p := startPlane(t, map[string]string{"PILOT_DEBOUNCE_AFTER": "1ms", "PILOT_DEBOUNCE_MAX": "5ms"}, small()...)
	var clients []*chatty
	var wg sync.WaitGroup
	for i := range 8 {
		c := &chatty{sotwClient: p.sotw(t, nodeOf("10.0.0.1", fmt.Sprintf("web-%d", i), "shop"))}
		clients = append(clients, c)
		c.ask(t, cds)
		c.ask(t, eds, c.names()...)
		c.ask(t, lds)
		c.ask(t, rds, "80")
		wg.Go(func() { c.run(t) })
	}
	var last string
	for i := range 200 {
		last = fmt.Sprintf("10.1.%d.%d", i/100, i%100)
		p.updateSlice(t, makeSlice("shop", "web", "web-1", ready(last)))
		if i%10 == 5 {
			p.createService(t, makeService("shop", fmt.Sprintf("extra-%d", i), "", httpPort()))
		}
		if i%10 == 9 {
			p.deleteService(t, "shop", fmt.Sprintf("extra-%d", i-4))
		}
		time.Sleep(2 * time.Millisecond)
	}
	want := []string{"/ " + last + ":8080 HEALTHY"}
	for _, c := range clients {
		eventually(t, "every proxy holds the last endpoints", func() bool {
			got := c.seen.Load()
			return got != nil && slices.Equal(*got, want)
		})
	}
	for _, c := range clients {
		c.stop()
	}
	wg.Wait()
	for _, c := range clients {
		for _, fault := range c.faults {
			t.Error(fault)
		}
	}
	if n := p.metric(t, "pilot_total_xds_internal_errors"); n != 0 {
		t.Errorf("%v internal errors", n)
	}
}

func TestStreamsMayEndWhilePushesAreUnderWay(t *testing.T) {
	p := startPlane(t, map[string]string{
		"PILOT_DEBOUNCE_AFTER": "1ms", "PILOT_DEBOUNCE_MAX": "5ms", "PILOT_PUSH_THROTTLE": "1",
	}, small()...)
	for i := range 40 {
		c := p.delta(t, nodeOf("10.0.0.1", fmt.Sprintf("web-%d", i), "shop"))
		c.ask(t, cds)
		c.ask(t, eds, webHTTP)
		c.ask(t, lds)
		p.updateSlice(t, makeSlice("shop", "web", "web-1", ready(fmt.Sprintf("10.1.0.%d", i))))
		c.want(t, cds)
		if err := c.stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "no stream is left", func() bool { return p.metric(t, "pilot_xds") == 0 })
	// The only slot is free again: a push still reaches a proxy.
	c := subscribeDelta(t, p)
	p.updateSlice(t, makeSlice("shop", "web", "web-1", ready("10.2.0.1")))
	c.want(t, eds)
}

func TestServiceUpdateThatOvertakesEndpointsRemovesOldClusters(t *testing.T) {
	// Endpoints are pushed at once and definitions after a while, so that the
	// former are built while the latter are still on their way.
	p := startPlane(t, map[string]string{
		"PILOT_DEBOUNCE_AFTER": "1s", "PILOT_ENABLE_EDS_DEBOUNCE": "false",
	}, small()...)
	c := subscribeDelta(t, p)
	web := makeService("shop", "web", "10.96.0.1", httpPort())
	web.Spec.Selector = map[string]string{"app": "web"}
	if _, err := p.client.CoreV1().Services("shop").Update(t.Context(), web, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the service's update is in the model", func() bool {
		return p.metric(t, "pilot_inbound_updates", "type=svc") == 4
	})
	p.updateSlice(t, makeSlice("shop", "web", "web-1", ready("10.0.0.7")))
	equalStrings(t, "endpoints", deltaNames(c.want(t, eds).GetResources()), []string{webHTTP})
	equalStrings(t, "removed", c.want(t, cds).GetRemovedResources(), []string{webTCP, "inbound|9000||"})
}
