package controlplane

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"sync/atomic"
)

// syncStatus is one proxy in /debug/syncz, in istiod's form: the nonces last
// sent and last acknowledged per type.
type syncStatus struct {
	ClusterID     string `json:"cluster_id,omitempty"`
	Proxy         string `json:"proxy,omitempty"`
	ProxyType     string `json:"proxy_type,omitempty"`
	IstioVersion  string `json:"istio_version,omitempty"`
	ClusterSent   string `json:"cluster_sent,omitempty"`
	ClusterAcked  string `json:"cluster_acked,omitempty"`
	ListenerSent  string `json:"listener_sent,omitempty"`
	ListenerAcked string `json:"listener_acked,omitempty"`
	RouteSent     string `json:"route_sent,omitempty"`
	RouteAcked    string `json:"route_acked,omitempty"`
	EndpointSent  string `json:"endpoint_sent,omitempty"`
	EndpointAcked string `json:"endpoint_acked,omitempty"`

	Resources map[string]resourceStatus `json:"resources,omitempty"`
}

// resourceStatus is one type of one proxy, by type URL.
type resourceStatus struct {
	Sent      string `json:"sent,omitempty"`
	Acked     string `json:"acked,omitempty"`
	LastError string `json:"lastError,omitempty"`
}

func (c *connection) syncStatus() syncStatus {
	c.mu.Lock()
	watches := c.watches
	c.mu.Unlock()
	out := syncStatus{
		ClusterID:     c.cluster,
		Proxy:         c.id.name,
		ProxyType:     c.id.kind,
		IstioVersion:  c.version,
		ClusterSent:   watches[typeCDS].sent,
		ClusterAcked:  watches[typeCDS].acked,
		ListenerSent:  watches[typeLDS].sent,
		ListenerAcked: watches[typeLDS].acked,
		RouteSent:     watches[typeRDS].sent,
		RouteAcked:    watches[typeRDS].acked,
		EndpointSent:  watches[typeEDS].sent,
		EndpointAcked: watches[typeEDS].acked,
		Resources:     make(map[string]resourceStatus),
	}
	for t := range typeCount {
		if w := &watches[t]; w.open {
			out.Resources[t.url()] = resourceStatus{Sent: w.sent, Acked: w.acked, LastError: w.lastError}
		}
	}
	return out
}

// pages serves the HTTP side: metrics, readiness and debug pages.
type pages struct {
	server  *discoveryServer
	version string
	ready   atomic.Bool
}

func (p *pages) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.server.metrics.handler())
	mux.HandleFunc("GET /ready", p.serveReady)
	mux.HandleFunc("GET /version", p.serveVersion)
	mux.HandleFunc("GET /debug/syncz", p.serveSyncz)
	mux.HandleFunc("GET /debug/faults", p.serveFaults)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

func (p *pages) serveReady(w http.ResponseWriter, _ *http.Request) {
	if !p.ready.Load() {
		http.Error(w, "the API server's objects are not all listed yet", http.StatusServiceUnavailable)
	}
}

func (p *pages) serveVersion(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	// A client that is gone is no error of ours.
	_, _ = w.Write([]byte(cmp.Or(p.version, "unknown")))
}

// serveSyncz lists the connected proxies by name; ?namespace= narrows it.
func (p *pages) serveSyncz(w http.ResponseWriter, r *http.Request) {
	namespace := r.URL.Query().Get("namespace")
	list := []syncStatus{}
	for _, c := range p.server.connections() {
		if namespace == "" || namespace == c.id.namespace {
			list = append(list, c.syncStatus())
		}
	}
	slices.SortFunc(list, func(a, b syncStatus) int { return strings.Compare(a.Proxy, b.Proxy) })
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(list); err != nil {
		p.server.log.Debug("write syncz", "error", err)
	}
}

// serveFaults tells what was injected so far.
func (p *pages) serveFaults(w http.ResponseWriter, _ *http.Request) {
	now := p.server.snapshot.Load()
	if p.server.faults == nil || now == nil {
		http.Error(w, "no faults are injected: set variables "+FaultPrefix+"...", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(p.server.faults.snapshotRecord(now)); err != nil {
		p.server.log.Debug("write faults", "error", err)
	}
}
