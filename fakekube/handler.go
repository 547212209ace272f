package fakekube

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// call is one request for objects.
type call struct {
	store *Store
	w     http.ResponseWriter
	r     *http.Request
	query url.Values

	res       *resource
	namespace string
	name      string
	sub       string
	accept    accepted
}

var _ http.Handler = (*Server)(nil)

// ServeHTTP serves the Kubernetes API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		writeError(w, apierrors.NewServiceUnavailable("the server is being closed"))
		return
	}
	defer s.handlers.Done()
	if err := s.route(w, r); err != nil {
		s.log.DebugContext(r.Context(), "request failed", "method", r.Method, "url", r.URL.String(), "err", err)
		writeError(w, err)
	}
}

func (s *Server) route(w http.ResponseWriter, r *http.Request) error {
	path := strings.Trim(r.URL.Path, "/")
	parts := strings.Split(path, "/")
	switch {
	case path == "healthz" || path == "readyz" || path == "livez":
		_, err := w.Write([]byte("ok"))
		return ignoreGone(err)
	case path == "version":
		return writeJSON(w, http.StatusOK, serverVersion())
	case parts[0] == "api" && len(parts) <= 2, parts[0] == "apis" && len(parts) <= 3:
		return s.discover(w, r, parts)
	case parts[0] == "api":
		return s.serve(w, r, schema.GroupVersion{Version: parts[1]}, parts[2:])
	case parts[0] == "apis":
		return s.serve(w, r, schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:])
	}
	return errUnknownPath()
}

// serve finds what the path is about: [namespaces/NS/]RESOURCE[/NAME[/SUB]].
func (s *Server) serve(w http.ResponseWriter, r *http.Request, gv schema.GroupVersion, parts []string) error {
	c := &call{store: s.store, w: w, r: r, query: r.URL.Query()}
	plural, ok := c.locate(parts)
	if !ok {
		return errUnknownPath()
	}
	if kind, ok := reviewKind(gv, plural); ok && c.name == "" {
		return c.review(kind)
	}
	var err error
	if c.res, err = s.store.kinds.lookup(gv.WithResource(plural)); err != nil {
		return err
	}
	if c.namespace != "" && !c.res.namespaced || c.sub != "" && (c.sub != "status" || !c.res.status) {
		return errUnknownPath()
	}
	if c.accept, err = negotiate(r.Header.Get("Accept"), c.res); err != nil {
		return err
	}
	if c.name == "" {
		return c.collection()
	}
	if c.res.namespaced && c.namespace == "" {
		return errUnknownPath()
	}
	return c.object()
}

// locate reads the path's parts after the version, and returns the resource's.
func (c *call) locate(parts []string) (plural string, ok bool) {
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

// collection serves the verbs of a resource.
func (c *call) collection() error {
	everywhere := c.res.namespaced && c.namespace == ""
	switch {
	case c.r.Method == http.MethodGet && isTrue(c.query.Get("watch")):
		return c.watch()
	case c.r.Method == http.MethodGet:
		return c.list()
	case c.r.Method == http.MethodPost && !everywhere:
		return c.create()
	case c.r.Method == http.MethodDelete && !everywhere:
		return c.deleteCollection()
	}
	return errMethod()
}

// object serves the verbs of one object or its status.
func (c *call) object() error {
	switch c.r.Method {
	case http.MethodGet:
		rec, err := c.store.get(c.res, c.namespace, c.name)
		if err != nil {
			return err
		}
		return c.writeRecord(http.StatusOK, rec)
	case http.MethodPut:
		return c.update()
	case http.MethodPatch:
		return c.patch()
	case http.MethodDelete:
		if c.sub == "" {
			return c.delete()
		}
	}
	return errMethod()
}

func isTrue(s string) bool { return s == "true" || s == "1" }

// writeError answers with the Status of an error.
func writeError(w http.ResponseWriter, err error) {
	status := statusOf(err)
	w.Header().Set("Content-Type", mediaJSON)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	w.WriteHeader(int(status.Code))
	// The client may be gone, then there is no one to tell.
	_ = json.NewEncoder(w).Encode(status)
}

// statusOf is the Status that stands for an error.
func statusOf(err error) *metav1.Status {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		api = apierrors.NewInternalError(err)
	}
	status := api.Status()
	status.APIVersion, status.Kind = "v1", "Status"
	return &status
}

func writeJSON(w http.ResponseWriter, code int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", mediaJSON)
	}
	w.WriteHeader(code)
	_, err = w.Write(data)
	return ignoreGone(err)
}

// ignoreGone drops the error of a write to a client: the answer has begun, so
// no other can be given, and a client that has left needs none.
func ignoreGone(error) error { return nil }
