package harness

import (
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

const (
	clusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

func TestSyncCheckAgreesWithAPageThatSaysWhatProxiesSay(t *testing.T) {
	var c syncCheck
	c.add("a.ns", []syncEntry{{Proxy: "a.ns", Resources: map[string]syncedNonce{
		clusterType:  {Sent: "7", Acked: "7"},
		endpointType: {Sent: "8", Acked: "6"},
		"type.googleapis.com/envoy.config.route.v3.RouteConfiguration": {},
		"type.googleapis.com/istio.networking.nds.v1.NameTable":        {Sent: "1"},
	}}}, map[string]ownNonce{"cds": {nonce: "7"}, "eds": {nonce: "8", rejected: true}})
	if want := (observed.ProxyStatus{Proxies: 1, Synced: 1, NotSent: 1, Stale: 1}); c.status != want {
		t.Errorf("status %+v, want %+v", c.status, want)
	}
	if w := c.warnings(); len(w) > 0 {
		t.Errorf("warnings: %q", w)
	}
}

func TestSyncCheckNamesBothSidesOfADifference(t *testing.T) {
	for name, own := range map[string]ownNonce{
		"another nonce":     {nonce: "5"},
		"rejected by us":    {nonce: "7", rejected: true},
		"never received it": {},
	} {
		t.Run(name, func(t *testing.T) {
			var c syncCheck
			entry := syncEntry{Proxy: "a.ns", Resources: map[string]syncedNonce{clusterType: {Sent: "7", Acked: "7"}}}
			c.add("a.ns", []syncEntry{entry}, map[string]ownNonce{"cds": own})
			w := strings.Join(c.warnings(), "\n")
			if !strings.Contains(w, "1 by the control plane's /debug/syncz") || !strings.Contains(w, "a.ns, cds") {
				t.Errorf("warnings: %q", w)
			}
		})
	}
}

func TestSyncCheckTakesTheLivingOfTwoConnections(t *testing.T) {
	var c syncCheck
	c.add("a.ns", []syncEntry{
		{Proxy: "a.ns", Resources: map[string]syncedNonce{clusterType: {Sent: "1", Acked: ""}}},
		{Proxy: "a.ns", Resources: map[string]syncedNonce{clusterType: {Sent: "7", Acked: "7"}}},
	}, map[string]ownNonce{"cds": {nonce: "7"}})
	c.add("b.ns", nil, nil)
	w := c.warnings()
	if len(w) != 1 || !strings.Contains(w[0], "2 by our count") {
		t.Errorf("warnings: %q", w)
	}
}

func TestRejectsOfTheWholeRunAreCompared(t *testing.T) {
	metrics := func(pushes, rejects string) []byte {
		return []byte("# TYPE pilot_xds_pushes counter\npilot_xds_pushes{type=\"cds\"} " + pushes + "\n" +
			"# TYPE pilot_total_xds_rejects counter\npilot_total_xds_rejects{type=\"cds\"} " + rejects + "\n")
	}
	for name, test := range map[string]struct {
		start, after []byte
		ours         result.Acks
		want         string
	}{
		"equal":             {metrics("3", "2"), metrics("9", "5"), result.Acks{NacksInjected: 2, NacksInvalid: 1}, ""},
		"unlike":            {metrics("3", "2"), metrics("9", "5"), result.Acks{NacksInjected: 2}, "2 by our count, 3 by"},
		"none counted":      {metrics("3", "0"), metrics("9", "0"), result.Acks{NacksInjected: 1}, "1 by our count, 0 by"},
		"no istiod metrics": {[]byte("# TYPE up gauge\nup 1\n"), []byte("# TYPE up gauge\nup 1\n"), result.Acks{NacksInjected: 1}, ""},
		"no metrics":        {nil, nil, result.Acks{NacksInjected: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := crossCheckRejects(test.start, test.after, &test.ours)
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(found, "\n"); (test.want == "") != (text == "") || !strings.Contains(text, test.want) {
				t.Errorf("found %q, want %q", text, test.want)
			}
		})
	}
}
