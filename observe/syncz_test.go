package observe_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result/observed"
)

const (
	clusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// nonces are those sent last and ACKed last, by type URL.
type nonces map[string][2]string

// entry is one proxy on a page.
type entry struct {
	proxy string
	nonces
}

// page makes a page as istiod serves it.
func page(t *testing.T, entries ...entry) observe.SyncPage {
	t.Helper()
	var list []map[string]any
	for _, e := range entries {
		resources := map[string]map[string]string{}
		for url, n := range e.nonces {
			resources[url] = map[string]string{"sent": n[0], "acked": n[1]}
		}
		list = append(list, map[string]any{"proxy": e.proxy, "resources": resources})
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	p, err := observe.ParseSyncPage(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSyncCheckAgreesWithAPageThatSaysWhatProxiesSay(t *testing.T) {
	t.Parallel()
	p := page(t, entry{"a.ns", nonces{
		clusterType:  {"7", "7"},
		endpointType: {"8", "6"},
		"type.googleapis.com/envoy.config.route.v3.RouteConfiguration": {},
		"type.googleapis.com/istio.networking.nds.v1.NameTable":        {"1", ""},
	}})
	var c observe.SyncCheck
	c.Add(p, "a.ns", map[xds.Type]observe.OwnNonce{xds.CDS: {Nonce: "7"}, xds.EDS: {Nonce: "8", Rejected: true}})
	if want := (observed.ProxyStatus{Proxies: 1, Synced: 1, NotSent: 1, Stale: 1}); c.Status() != want {
		t.Errorf("status %+v, want %+v", c.Status(), want)
	}
	if w := c.Warnings(); len(w) > 0 {
		t.Errorf("warnings: %q", w)
	}
}

func TestSyncCheckNamesBothSidesOfADifference(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]observe.OwnNonce{
		"another nonce":     {Nonce: "5"},
		"rejected by us":    {Nonce: "7", Rejected: true},
		"never received it": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c observe.SyncCheck
			c.Add(page(t, entry{"a.ns", nonces{clusterType: {"7", "7"}}}), "a.ns", map[xds.Type]observe.OwnNonce{xds.CDS: own})
			w := strings.Join(c.Warnings(), "\n")
			if !strings.Contains(w, "1 by the control plane's /debug/syncz") || !strings.Contains(w, "a.ns, cds") {
				t.Errorf("warnings: %q", w)
			}
		})
	}
}

func TestSyncCheckTakesTheLivingOfTwoConnections(t *testing.T) {
	t.Parallel()
	p := page(t, entry{"a.ns", nonces{clusterType: {"1", ""}}}, entry{"a.ns", nonces{clusterType: {"7", "7"}}})
	var c observe.SyncCheck
	c.Add(p, "a.ns", map[xds.Type]observe.OwnNonce{xds.CDS: {Nonce: "7"}})
	c.Add(p, "b.ns", nil)
	w := c.Warnings()
	if len(w) != 1 || !strings.Contains(w[0], "2 by our count") {
		t.Errorf("warnings: %q", w)
	}
}

func TestAPageThatIsNoJSONIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := observe.ParseSyncPage([]byte("<html>")); err == nil || !strings.Contains(err.Error(), "/debug/syncz") {
		t.Errorf("error %v", err)
	}
}
