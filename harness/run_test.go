package harness_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/target"
)

// within is how long an interrupted run may take to end, with room for a busy machine.
const within = 20 * time.Second

// against returns a run of a small fleet against ADS servers at some addresses, with the
// in-memory API server.
func against(t *testing.T, addresses ...string) harness.Config {
	t.Helper()
	p := profiles.Default()
	p.Mesh.Services, p.Proxies.Count, p.Proxies.Variant = 3, 4, "mixed"
	p.Target.Kind, p.Target.XDSAddress = target.KindExternal, strings.Join(addresses, ",")
	p.Phases.ReadyTimeout.Duration = 6 * time.Second
	return harness.Config{Profile: &p, Dir: filepath.Join(t.TempDir(), "out")}
}

// saved returns the result that a run left.
func saved(t *testing.T, cfg harness.Config) *result.Result {
	t.Helper()
	r, err := result.Load(cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mute accepts connections and never says anything.
func mute(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// deaf is an ADS server that takes streams and never responds.
func deaf(t *testing.T) string {
	t.Helper()
	return adstest.Start(t).Addr
}

func TestRunAgainstASilentServerFailsAndNamesIt(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(*testing.T) string{
		"that never speaks HTTP/2": mute,
		"that never responds":      deaf,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := against(t, address(t))
			_, err := harness.Run(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), "0 of 4 ready") {
				t.Errorf("error %v", err)
			}
			r := saved(t, cfg)
			if len(r.Silences) != 1 || r.Silences[0].Who != "control plane" || r.Silences[0].From >= 0 || r.Failure == "" {
				t.Errorf("silences %+v, failure %q", r.Silences, r.Failure)
			}
			if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, "4 of 4 proxies wait for a first response") {
				t.Errorf("warnings %q", said)
			}
		})
	}
}

func TestInterruptedRunSavesWhatThereIs(t *testing.T) {
	t.Parallel()
	cfg := against(t, mute(t), mute(t))
	cfg.Profile.Phases.ReadyTimeout.Duration = time.Hour
	connecting := make(chan struct{})
	seen := false
	cfg.Progress = func(s harness.Status) {
		if s.Phase == harness.PhaseConnect && !seen {
			seen = true
			close(connecting)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		<-connecting
		time.Sleep(100 * time.Millisecond)
		interrupt()
	}()
	began := time.Now()
	res, err := harness.Run(ctx, cfg)
	if took := time.Since(began); took > within || err != nil {
		t.Errorf("after %s: %v", took, err)
	}
	r := saved(t, cfg)
	if !res.Partial || !r.Partial || r.Failure != "" || len(r.Silences) > 0 {
		t.Errorf("partial %t, failure %q, silences %+v of a fleet that has only just begun to connect", r.Partial, r.Failure, r.Silences)
	}
}

func TestRefusingServerIsAnErrorBeforeAnythingIsKept(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	cfg := against(t, l.Addr().String())
	if res, err := harness.Run(t.Context(), cfg); res != nil || err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("result %v: %v", res, err)
	}
	if _, err := os.Stat(cfg.Dir); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}
