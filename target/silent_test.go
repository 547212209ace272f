package target_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/target"
)

// mutePeer accepts connections and never answers.
func mutePeer(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}

// webPeer answers all requests in one way.
func webPeer(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}

// peers are remotes that do not answer as they should.
func peers(t *testing.T) map[string]string {
	t.Helper()
	flush := func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }
	return map[string]string{
		"accepts and never answers": mutePeer(t),
		"headers and never a body": webPeer(t, func(w http.ResponseWriter, r *http.Request) {
			flush(w)
			<-r.Context().Done()
		}),
		"an endless body": webPeer(t, func(w http.ResponseWriter, r *http.Request) {
			for chunk := bytes.Repeat([]byte("# \n"), 1<<14); r.Context().Err() == nil; flush(w) {
				_, _ = w.Write(chunk)
			}
		}),
		"an endless error": webPeer(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			for chunk := bytes.Repeat([]byte("no "), 1<<14); r.Context().Err() == nil; flush(w) {
				_, _ = w.Write(chunk)
			}
		}),
		"a redirect to itself": webPeer(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}),
	}
}

// promptly fails the test if what it calls does not end in good time.
func promptly(t *testing.T, what string, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(30 * time.Second):
		t.Fatalf("%s does not end", what)
		return nil
	}
}

func TestNoPeerCanHoldUpACall(t *testing.T) {
	xds := strings.TrimPrefix(mutePeer(t), "http://")
	for name, peer := range peers(t) {
		t.Run(name, func(t *testing.T) {
			spec := target.DefaultSpec()
			spec.Kind, spec.XDSAddress = target.KindExternal, xds
			spec.MetricsURL, spec.PprofURL = peer+"/metrics", peer+"/debug/pprof"
			var tg *target.Target
			// The version is asked for at the start: a target without one is a target.
			if err := promptly(t, "Start", func() (err error) {
				tg, err = target.Start(t.Context(), target.Config{Spec: spec, CallTimeout: 200 * time.Millisecond})
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if v := tg.Info().Version; v != "" {
				t.Errorf("version %q", v)
			}
			r := tg.Replicas()[0]
			for what, call := range map[string]func() error{
				"Scrape":       func() error { _, err := r.Scrape(t.Context()); return err },
				"Usage":        func() error { _, err := tg.Usage(t.Context()); return err },
				"CheckPprof":   func() error { return r.CheckPprof(t.Context()) },
				"FetchProfile": func() error { _, err := r.FetchProfile(t.Context(), "heap", 0); return err },
				"Stop":         func() error { return errors.Join(tg.Stop(t.Context()), errStop) },
			} {
				if err := promptly(t, what, call); err == nil {
					t.Errorf("%s: no error", what)
				} else if what != "Stop" && !strings.Contains(err.Error(), peer) {
					t.Errorf("%s: %v: want it to name %s", what, err, peer)
				}
			}
		})
	}
}

// errStop makes a call that must not fail look like the others.
var errStop = errors.New("stopped")

func TestCallsEndWithTheirContext(t *testing.T) {
	peer := mutePeer(t)
	spec := target.DefaultSpec()
	spec.Kind, spec.XDSAddress, spec.MetricsURL = target.KindExternal, strings.TrimPrefix(peer, "http://"), peer
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	var tg *target.Target
	if err := promptly(t, "Start", func() (err error) {
		tg, err = target.Start(short(), target.Config{Spec: spec, CallTimeout: time.Hour})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	err := promptly(t, "Scrape", func() error { _, err := tg.Replicas()[0].Scrape(short()); return err })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestProcessThatNeverAnswersIsReportedAndStopped(t *testing.T) {
	cfg := fakeConfig(t, "mute")
	cfg.ReadyTimeout, cfg.CallTimeout = time.Second, 200*time.Millisecond
	err := promptly(t, "Start", func() error {
		_, err := target.Start(t.Context(), cfg)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "is not ready after 1s") || !strings.Contains(err.Error(), "/ready: no answer, or not all of it, within 200ms") {
		t.Errorf("got %v", err)
	}
}

func TestStoppedProcessHoldsUpNothing(t *testing.T) {
	for _, mode := range []string{"serve", "deaf"} {
		t.Run(mode, func(t *testing.T) {
			cfg := fakeConfig(t, mode)
			cfg.CallTimeout = 200 * time.Millisecond
			if mode == "deaf" {
				cfg.StopGrace = 300 * time.Millisecond
			} else {
				cfg.StopGrace = 20 * time.Second // built with the race detector it takes a second to exit
			}
			tg := start(t, cfg)
			r, pid := tg.Replicas()[0], tg.Info().PID
			freeze := func() {
				p := tg.Info().PID
				if err := syscall.Kill(-p, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				for stat := ""; !strings.Contains(stat, ") T "); time.Sleep(time.Millisecond) {
					data, err := os.ReadFile("/proc/" + strconv.Itoa(p) + "/stat")
					if err != nil {
						t.Fatal(err)
					}
					stat = string(data)
				}
			}
			freeze()
			for what, call := range map[string]func() error{
				"Scrape":       func() error { _, err := r.Scrape(t.Context()); return err },
				"Syncz":        func() error { _, err := r.Syncz(t.Context()); return err },
				"FetchProfile": func() error { _, err := r.FetchProfile(t.Context(), "heap", 0); return err },
				"CheckPprof":   func() error { return r.CheckPprof(t.Context()) },
			} {
				if err := promptly(t, what, call); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := promptly(t, "Usage", func() error { _, err := tg.Usage(t.Context()); return err }); err != nil {
				t.Error(err)
			}
			if err := promptly(t, "Restart", func() error { return r.Restart(t.Context()) }); err != nil {
				t.Fatal(err)
			}
			if !groupGone(pid) {
				t.Errorf("process group %d is still there", pid)
			}
			freeze()
			if err := promptly(t, "Stop", func() error { return tg.Stop(t.Context()) }); err != nil {
				t.Error(err)
			}
			// One that heeds SIGTERM ends in good order.
			if exit := r.Exit(); exit == nil || (exit.Status == "exit status 0") != (mode == "serve") {
				t.Errorf("exit %+v", exit)
			}
		})
	}
}

func TestKilledTargetSaysSo(t *testing.T) {
	tg := start(t, fakeConfig(t, "serve"))
	r := tg.Replicas()[0]
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(tg.Info().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-r.Exited()
	// The log is that of the latest process alone.
	if exit := r.Exit(); exit == nil || exit.Status != "signal: killed" || strings.Count(exit.Log, "mode serve") != 1 {
		t.Errorf("exit %+v", exit)
	}
}

func TestExternalTargetOnASocketFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ads.sock")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	spec := target.DefaultSpec()
	spec.Kind, spec.XDSAddress = target.KindExternal, " unix:"+path+" , unix://"+path
	tg := start(t, target.Config{Spec: spec})
	if len(tg.Replicas()) != 2 {
		t.Errorf("addresses %q", tg.XDSAddresses())
	}
	_ = l.Close()
	_, err = target.Start(t.Context(), target.Config{Spec: spec})
	if err == nil || !strings.Contains(err.Error(), "unix:"+path+" does not accept connections") {
		t.Errorf("got %v", err)
	}
}
