//go:build realstack

package target_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/internal/testutil/realstack"
	"github.com/xdsbench/xdsbench/target"
)

func TestRealIstiodStartsRestartsAndStops(t *testing.T) {
	stack := realstack.Start(t)
	cfg := target.Config{Spec: target.DefaultSpec(), Kubeconfig: stack.Kubeconfig, Dir: t.TempDir()}
	cfg.Spec.Kind = target.KindIstiod
	cfg.Spec.Binary = realstack.Binary(t, "pilot-discovery")
	cfg.Spec.Env = map[string]string{"PILOT_DEBOUNCE_AFTER": "10ms"}
	began := time.Now()
	tg := start(t, cfg)
	info := tg.Info()
	t.Logf("ready after %s, version %q, usage of %s", time.Since(began), info.Version, info.Command)
	if info.Version == "" || info.Env["PILOT_DEBOUNCE_AFTER"] != "10ms" {
		t.Errorf("Info() = %+v", info)
	}
	metrics, err := tg.Replicas()[0].Scrape(t.Context())
	if err != nil || !bytes.Contains(metrics, []byte("pilot_xds_pushes")) && !bytes.Contains(metrics, []byte("pilot_info")) {
		t.Errorf("Scrape: %v, %d bytes", err, len(metrics))
	}
	if profile, err := tg.Replicas()[0].FetchProfile(t.Context(), "cpu", 1); err != nil || len(profile) == 0 {
		t.Errorf("FetchProfile: %v", err)
	}
	usage, err := tg.Usage(t.Context())
	if err != nil || usage.CPUSeconds <= 0 || usage.PeakRSSBytes < 20<<20 {
		t.Errorf("Usage() = %+v, %v", usage, err)
	}
	t.Logf("usage %+v", usage)
	if err := tg.Replicas()[0].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tg.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !groupGone(tg.Info().PID) {
		t.Error("istiod is still there")
	}
}
