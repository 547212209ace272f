// Package api serves a store as the Kubernetes API over HTTP.
//
// Read handler.go first, then verbs.go and stream.go; the rest is how bodies are
// read (decode.go) and answers written (negotiate.go, respond.go, table.go).
package api

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
	"github.com/xdsbench/xdsbench/fakekube/internal/store"
)

type handler struct {
	store *store.Store
	log   *slog.Logger
}

// NewHandler returns the API of a store. Failed requests are logged at debug
// level.
func NewHandler(s *store.Store, log *slog.Logger) http.Handler {
	return &handler{store: s, log: log}
}

// ServeHTTP serves the Kubernetes API.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.route(w, r); err != nil {
		// The query stays out of the log: clients can put credentials there.
		h.log.DebugContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "err", err)
		WriteError(w, err)
	}
}

func (h *handler) route(w http.ResponseWriter, r *http.Request) error {
	path := strings.Trim(r.URL.Path, "/")
	parts := strings.Split(path, "/")
	switch {
	case path == "healthz" || path == "readyz" || path == "livez":
		_, err := w.Write([]byte("ok"))
		return ignoreClient(err)
	case path == "version":
		return writeJSON(w, http.StatusOK, kinds.ServerVersion())
	case parts[0] == "api" && len(parts) <= 2, parts[0] == "apis" && len(parts) <= 3:
		return h.discover(w, r, parts)
	case parts[0] == "api":
		return h.serve(w, r, schema.GroupVersion{Version: parts[1]}, parts[2:])
	case parts[0] == "apis":
		return h.serve(w, r, schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:])
	}
	return kinds.NotServed()
}

// request is one request for objects.
type request struct {
	store *store.Store
	w     http.ResponseWriter
	r     *http.Request
	query url.Values

	resource  *kinds.Resource
	namespace string
	name      string
	sub       string
	accept    representation
}

// serve finds what the path is about: [namespaces/NS/]RESOURCE[/NAME[/SUB]].
func (h *handler) serve(w http.ResponseWriter, r *http.Request, gv schema.GroupVersion, parts []string) error {
	c := &request{store: h.store, w: w, r: r, query: r.URL.Query()}
	plural, ok := c.locate(parts)
	if !ok {
		return kinds.NotServed()
	}
	var err error
	if c.resource, err = h.store.Kinds().Lookup(gv.WithResource(plural)); err != nil {
		return err
	}
	if c.namespace != "" && !c.resource.Namespaced || c.sub != "" && (c.sub != "status" || !c.resource.Status) {
		return kinds.NotServed()
	}
	if c.accept, err = negotiate(r.Header.Get("Accept"), c.resource); err != nil {
		return err
	}
	if c.name == "" {
		return c.serveCollection()
	}
	if c.resource.Namespaced && c.namespace == "" || c.resource.Review {
		return kinds.NotServed()
	}
	return c.serveObject()
}

// locate reads the path's parts after the version, and returns the resource's.
func (c *request) locate(parts []string) (plural string, ok bool) {
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		c.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 1 {
		c.name = parts[1]
	}
	if len(parts) > 2 {
		c.sub = parts[2]
	}
	return parts[0], len(parts) <= 3
}

// serveCollection serves the verbs of a resource.
func (c *request) serveCollection() error {
	method, everywhere := c.r.Method, c.resource.Namespaced && c.namespace == ""
	switch {
	case method == http.MethodPost && !everywhere && c.resource.Review:
		return c.review()
	case c.resource.Review:
	case method == http.MethodGet && isTrue(c.query.Get("watch")):
		return c.watch()
	case method == http.MethodGet:
		return c.list()
	case method == http.MethodPost && !everywhere:
		return c.create()
	case method == http.MethodDelete && !everywhere:
		return c.deleteCollection()
	}
	return kinds.MethodNotAllowed()
}

// serveObject serves the verbs of one object or its status.
func (c *request) serveObject() error {
	switch c.r.Method {
	case http.MethodGet:
		rev, err := c.store.Get(c.resource, c.key())
		if err != nil {
			return err
		}
		return c.writeRevision(http.StatusOK, rev)
	case http.MethodPut:
		return c.update()
	case http.MethodPatch:
		return c.patch()
	case http.MethodDelete:
		if c.sub == "" {
			return c.delete()
		}
	}
	return kinds.MethodNotAllowed()
}

func (c *request) key() object.Key { return object.Key{Namespace: c.namespace, Name: c.name} }

func isTrue(s string) bool { return s == "true" || s == "1" }

// WriteError answers with the Status of an error.
func WriteError(w http.ResponseWriter, err error) {
	status := kinds.StatusOf(err)
	w.Header().Set("Content-Type", mediaJSON)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	w.WriteHeader(int(status.Code))
	// The client may be gone: then nobody can be told.
	_ = json.NewEncoder(w).Encode(status)
}
