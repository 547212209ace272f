package target_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/target"
)

// pprofServer serves the profiles of this very process.
func pprofServer(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func external(t *testing.T, pprofURL string) *target.Target {
	t.Helper()
	xds := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(xds.Close)
	spec := target.DefaultSpec()
	spec.Kind, spec.XDSAddress, spec.PprofURL = target.KindExternal, xds.Listener.Addr().String(), pprofURL
	return start(t, target.Config{Spec: spec, Dir: t.TempDir()})
}

func TestOwnProfilesAreNotTakenForTheTargets(t *testing.T) {
	tg := external(t, pprofServer(t).URL+"/debug/pprof")
	err := tg.Replicas()[0].CheckPprof(t.Context())
	if err == nil || !strings.Contains(err.Error(), "of this process") {
		t.Errorf("error = %v, want that these are the profiles of this process", err)
	}
}

func TestTargetsProfilesAreItsOwn(t *testing.T) {
	tg := start(t, fakeConfig(t, "serve"))
	if err := tg.Replicas()[0].CheckPprof(t.Context()); err != nil {
		t.Errorf("profiles of the process we started: %v", err)
	}
	for _, kind := range []string{"heap", "goroutine"} {
		if data, err := tg.Replicas()[0].FetchProfile(t.Context(), kind, 0); err != nil || len(data) == 0 {
			t.Errorf("%s: %d bytes, %v", kind, len(data), err)
		}
	}
}

func TestTargetWithoutPprofSaysSo(t *testing.T) {
	if err := external(t, "").Replicas()[0].CheckPprof(t.Context()); !errors.Is(err, target.ErrNoPprof) {
		t.Errorf("error = %v, want ErrNoPprof", err)
	}
	if _, err := external(t, pprofServer(t).URL+"/debug/pprof").Replicas()[0].FetchProfile(t.Context(), "trace", 0); err == nil {
		t.Error("no error for a trace of no length")
	}
}
