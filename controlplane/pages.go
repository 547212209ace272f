package controlplane

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	_ "net/http/pprof" // serves /debug/pprof/ on the default mux
	"sync/atomic"

	"github.com/xdsbench/xdsbench/controlplane/faults"
	"github.com/xdsbench/xdsbench/controlplane/internal/discovery"
)

// pages serves metrics, readiness and debug pages over HTTP. Errors of writing to
// a client that has gone away are ignored.
type pages struct {
	server  *discovery.Server
	faults  *faults.Injector
	metrics http.Handler
	version string
	ready   atomic.Bool
}

func (p *pages) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.metrics)
	mux.HandleFunc("GET /ready", p.serveReady)
	mux.HandleFunc("GET /version", p.serveVersion)
	mux.HandleFunc("GET /debug/syncz", p.serveSyncz)
	mux.HandleFunc("GET /debug/faults", p.serveFaults)
	mux.Handle("/debug/pprof/", http.DefaultServeMux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.faults.SilentHTTP() {
			<-r.Context().Done() // until the client gives up or the server stops
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (p *pages) serveReady(w http.ResponseWriter, _ *http.Request) {
	if !p.ready.Load() {
		http.Error(w, "the objects of the API server have not all been listed yet", http.StatusServiceUnavailable)
	}
}

func (p *pages) serveVersion(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, cmp.Or(p.version, "unknown"))
}

// serveSyncz lists the connected proxies; ?namespace= narrows it.
func (p *pages) serveSyncz(w http.ResponseWriter, r *http.Request) {
	serveJSON(w, p.server.SyncStatus(r.URL.Query().Get("namespace")))
}

// serveFaults says what has been injected so far.
func (p *pages) serveFaults(w http.ResponseWriter, _ *http.Request) {
	if p.faults == nil {
		http.Error(w, "no faults are injected: see the variables XDSBENCH_FAULT_... of the control plane",
			http.StatusNotFound)
		return
	}
	serveJSON(w, p.faults.Record(p.server.Version))
}

func serveJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
