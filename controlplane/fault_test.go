package controlplane_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/xdsbench/xdsbench/controlplane"
	"github.com/xdsbench/xdsbench/controlplane/faults"
)

const webA = "web-a.shop" // the proxy of subscribeSotw and subscribeDelta

// record reads what was injected.
func (p *plane) record(t *testing.T) faults.Record {
	t.Helper()
	code, body := p.get(t, "/debug/faults")
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, body)
	}
	var r faults.Record
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// webWith changes the endpoints of web.
func (p *plane) webWith(t *testing.T, addresses ...string) {
	t.Helper()
	slice := makeSlice("shop", "web", "web-1")
	for _, a := range addresses {
		slice.Endpoints = append(slice.Endpoints, ready(a))
	}
	p.updateSlice(t, slice)
}

// webEndpoints returns what the next response says of web.
func (c *sotwClient) webEndpoints(t *testing.T) []string {
	t.Helper()
	return describe(assignments(t, c.want(t, eds).GetResources())[webHTTP])
}

func TestWithoutFaultsThereIsNoRecord(t *testing.T) {
	p := startPlane(t, nil, small()...)
	if code, _ := p.get(t, "/debug/faults"); code != http.StatusNotFound {
		t.Errorf("status %d", code)
	}
}

func TestBadFaultStopsTheStart(t *testing.T) {
	err := controlplane.Run(t.Context(), controlplane.Config{
		Client: fake.NewClientset(), XDSAddress: "127.0.0.1:0", HTTPAddress: "127.0.0.1:0",
		Env: map[string]string{faults.EnvDelay: "soon"},
	})
	if err == nil || !strings.Contains(err.Error(), `XDSBENCH_FAULT_DELAY="soon"`) {
		t.Errorf("error %v", err)
	}
}

func TestDelayedPushComesLateAndInOrderAndIsRecorded(t *testing.T) {
	p := startPlane(t, map[string]string{faults.EnvDelay: "300ms"}, small()...)
	c := subscribeSotw(t, p)
	began := time.Now()
	p.webWith(t, "10.0.0.1", "10.0.0.7")
	eventually(t, "first push begun", func() bool { return p.metric(t, "pilot_proxy_queue_time") >= 1 })
	p.webWith(t, "10.0.0.1", "10.0.0.7", "10.0.0.8")
	if got := c.webEndpoints(t); len(got) != 2 {
		t.Errorf("first came %v", got)
	}
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("came after %s", took)
	}
	if got := c.webEndpoints(t); len(got) != 3 {
		t.Errorf("then came %v", got)
	}
	r := p.record(t)
	if len(r.Delays) != 2 || slices.Min(r.Delays) < 290*time.Millisecond {
		t.Errorf("recorded %v", r.Delays)
	}
}

func TestUnservedProxyGetsItsFirstConfigurationAndNoPush(t *testing.T) {
	p := startPlane(t, map[string]string{faults.EnvUnserved: "1"}, small()...)
	c := subscribeSotw(t, p)
	p.webWith(t, "10.0.0.1", "10.0.0.7")
	wantSilence(t, c.incoming)
	if r := p.record(t); !slices.Equal(r.Unserved, []string{webA}) || r.UnservedPushes != 1 {
		t.Errorf("record %+v", r)
	}
}

func TestStalePushRepeatsTheStateOfTheSync(t *testing.T) {
	p := startPlane(t, map[string]string{faults.EnvStale: "1"}, small()...)
	c := subscribeSotw(t, p)
	for _, address := range []string{"10.0.0.7", "10.0.0.8"} {
		p.webWith(t, "10.0.0.1", address)
		if got := c.webEndpoints(t); !slices.Equal(got, []string{"/z9 10.0.0.2:8080 UNHEALTHY", "r1/z1 10.0.0.1:8080 HEALTHY"}) {
			t.Errorf("pushed %q", got)
		}
	}
	want := []faults.StaleCluster{{Proxy: webA, Cluster: webHTTP}}
	if r := p.record(t); !slices.Equal(r.Stale, want) || r.StaleResources != 2 {
		t.Errorf("record %+v", r)
	}
}

func TestLostUpdateReachesNobodyUntilTheNextChange(t *testing.T) {
	p := startPlane(t, map[string]string{faults.EnvLost: "2"}, small()...)
	c := subscribeSotw(t, p)
	p.webWith(t, "10.0.0.1", "10.0.0.7")
	c.webEndpoints(t)
	p.webWith(t, "10.0.0.1", "10.0.0.7", "10.0.0.8")
	wantSilence(t, c.incoming)
	p.webWith(t, "10.0.0.1", "10.0.0.7", "10.0.0.8", "10.0.0.9")
	if got := c.webEndpoints(t); len(got) != 4 {
		t.Errorf("pushed %v", got)
	}
	want := []faults.LostUpdate{{Cluster: webHTTP, Update: 2}}
	if r := p.record(t); !slices.Equal(r.Lost, want) {
		t.Errorf("record %+v", r)
	}
}

func TestDuplicatePushComesTwice(t *testing.T) {
	p := startPlane(t, map[string]string{faults.EnvDuplicate: "1"}, small()...)
	c := subscribeDelta(t, p)
	p.webWith(t, "10.0.0.1", "10.0.0.7")
	for range 2 {
		r := c.want(t, eds)
		equalStrings(t, "resources", deltaNames(r.GetResources()), []string{webHTTP})
	}
	wantSilence(t, c.incoming)
	if r := p.record(t); r.DuplicateResponses != 1 || r.DuplicateResources != 1 {
		t.Errorf("record %+v", r)
	}
}

func TestEndpointsComeBeforeTheirClusters(t *testing.T) {
	p := startPlane(t, map[string]string{faults.EnvOrder: "1"}, small()...)
	const db = "outbound|5432||db.data.svc.cluster.local"
	c := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, cds)
	r := c.want(t, cds)
	if got := clusters(t, r.GetResources()); got[db] == nil || got[webHTTP] != nil || got[webTCP] != nil {
		t.Errorf("first clusters %v", got)
	}
	c.ack(t, r)
	c.ask(t, eds, db)
	if got := assignments(t, c.want(t, eds).GetResources()); got[db] == nil || got[webHTTP] == nil || got[webTCP] == nil {
		t.Errorf("endpoints %v", got)
	}
	if got := clusters(t, c.want(t, cds).GetResources()); got[db] == nil || got[webHTTP] == nil || got[webTCP] == nil {
		t.Errorf("second clusters %v", got)
	}
	if r := p.record(t); !slices.Equal(r.Early, []string{webA}) || r.EarlyResources != 2 {
		t.Errorf("record %+v", r)
	}
}

func TestRecordIsWrittenAtTheEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faults.json")
	ctx, cancel := context.WithCancel(t.Context())
	err := controlplane.Run(ctx, controlplane.Config{
		Client: fake.NewClientset(small()...), XDSAddress: "127.0.0.1:0", HTTPAddress: "127.0.0.1:0",
		Env:     map[string]string{faults.EnvFile: file, faults.EnvUnserved: "0.5"},
		OnReady: func(controlplane.Addresses) { cancel() },
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r faults.Record
	if err := json.Unmarshal(data, &r); err != nil || r.Settings[faults.EnvUnserved] != "0.5" {
		t.Errorf("%v: %s", err, data)
	}
}

func TestSecondHalfOfTheClustersComesLate(t *testing.T) {
	t.Parallel()
	p := startPlane(t, map[string]string{faults.EnvLateClusters: "3s"}, small()...)
	began := time.Now()
	sotw := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	sotw.ask(t, cds)
	r := sotw.want(t, cds)
	if got := clusters(t, r.GetResources()); got[db] == nil || got[webHTTP] == nil || got[webTCP] != nil {
		t.Errorf("first clusters %v", got)
	}
	sotw.ack(t, r)
	delta := p.delta(t, nodeOf("10.0.0.2", "web-b", "shop"))
	delta.ask(t, cds)
	if got := clusters(t, unwrap(t, delta.want(t, cds).GetResources())); got[webHTTP] == nil || got[webTCP] != nil {
		t.Errorf("first clusters over Delta %v", got)
	}

	// A push in between does not bring them either.
	p.createService(t, makeService("shop", "cart", "10.96.0.5", httpPort()))
	if got := clusters(t, sotw.want(t, cds).GetResources()); got[cart] == nil || got[webTCP] != nil {
		t.Errorf("pushed clusters %v", got)
	}
	equalStrings(t, "pushed over Delta", deltaNames(delta.want(t, cds).GetResources()), []string{cart})

	if got := clusters(t, sotw.want(t, cds).GetResources()); got[webHTTP] == nil || got[webTCP] == nil {
		t.Errorf("last clusters %v", got)
	}
	if took := time.Since(began); took < 3*time.Second {
		t.Errorf("came after %s", took)
	}
	equalStrings(t, "last over Delta", deltaNames(delta.want(t, cds).GetResources()), []string{webTCP})
	if r := p.record(t); !slices.Equal(r.Late, []string{webA, "web-b.shop"}) || r.LateClusters != 2 {
		t.Errorf("record %+v", r)
	}
}

func TestUnansweredTypeIsNeitherAnsweredNorPushed(t *testing.T) {
	t.Parallel()
	p := startPlane(t, map[string]string{faults.EnvUnanswered: "sotw/cds,sotw/eds"}, small()...)
	c := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, cds)
	c.ask(t, eds, webHTTP)
	c.ask(t, lds)
	c.ack(t, c.want(t, lds))
	p.createService(t, makeService("shop", "cart", "10.96.0.5", httpPort()))
	c.ack(t, c.want(t, lds))
	p.webWith(t, "10.0.0.7")
	wantSilence(t, c.incoming)
	if r := p.record(t); len(r.Unanswered) != 2 || r.Unanswered["sotw/cds"] != 1 || r.Unanswered["sotw/eds"] != 1 {
		t.Errorf("record %+v", r)
	}
	subscribeDelta(t, p) // is answered
}

func TestUnansweredVariantKeepsItsStreamOpen(t *testing.T) {
	t.Parallel()
	p := startPlane(t, map[string]string{faults.EnvUnanswered: "delta"}, small()...)
	c := p.delta(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, cds)
	wantSilence(t, c.incoming)
	subscribeSotw(t, p) // is answered
}

func TestSilentControlPlaneSendsNothingOnOpenStreams(t *testing.T) {
	t.Parallel()
	p := startPlane(t, map[string]string{faults.EnvSilentAfter: "3s"}, small()...)
	c := subscribeSotw(t, p)
	eventually(t, "silence", func() bool { return !p.record(t).SilentFrom.IsZero() })
	p.webWith(t, "10.0.0.7")
	eventually(t, "a push that is not sent", func() bool { return p.record(t).SilencedResponses == 1 })
	late := p.delta(t, nodeOf("10.0.0.2", "web-b", "shop"))
	late.ask(t, cds)
	wantSilence(t, late.incoming)
	wantSilence(t, c.incoming)
}

func TestSilentPagesDoNotAnswer(t *testing.T) {
	t.Parallel()
	p := startPlane(t, map[string]string{faults.EnvSilentAfter: "0s", faults.EnvSilentHTTP: "true"}, small()...)
	for _, path := range []string{"/metrics", "/debug/syncz", "/debug/pprof/"} {
		eventually(t, path+" does not answer", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), silence)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.HTTP+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			return errors.Is(err, context.DeadlineExceeded)
		})
	}
}
