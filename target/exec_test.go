package target_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/target"
)

func TestExecFillsPlaceholdersAndKeepsQuotedWords(t *testing.T) {
	cfg := fakeConfig(t, "serve")
	cfg.Spec.Kind = target.KindExec
	cfg.Spec.Exec = `'` + cfg.Self + `' --kubeconfig {kubeconfig} --xds-address={xds} --http-address "{metrics}" 'two words'`
	cfg.Spec.PprofURL = "http://{metrics}/debug/pprof/"
	tg := start(t, cfg)
	info := tg.Info()
	if last := info.Command[len(info.Command)-1]; last != "two words" {
		t.Errorf("Command = %q", info.Command)
	}
	if _, err := tg.Replicas()[0].Scrape(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := tg.Replicas()[0].FetchProfile(t.Context(), "goroutine", 0); err != nil {
		t.Error(err)
	}
	if usage, err := tg.Usage(t.Context()); err != nil || usage.RSSBytes == 0 {
		t.Errorf("Usage() = %+v, %v", usage, err)
	}
	if info.Version != "fake 1.2.3" {
		t.Errorf("Version = %q", info.Version)
	}
}

func TestExecFillsPortsForCommandsThatTakeThemApart(t *testing.T) {
	cfg := fakeConfig(t, "serve")
	cfg.Spec.Kind = target.KindExec
	cfg.Spec.Exec = cfg.Self + " --xds-address 127.0.0.1:{xdsPort} --http-address 127.0.0.1:{metricsPort}"
	cfg.Spec.MetricsURL = "http://{metrics}/metrics"
	if err := cfg.Spec.Validate(); err != nil {
		t.Fatal(err)
	}
	tg := start(t, cfg)
	if got, want := tg.XDSAddresses()[0], tg.Info().Command[2]; got != want {
		t.Errorf("the fleet connects to %s, the command listens on %s", got, want)
	}
	if _, err := tg.Replicas()[0].Scrape(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestExecSplitsWordsAsAShellDoes(t *testing.T) {
	for line, want := range map[string][]string{
		"a  b\tc":           {"a", "b", "c"},
		`'a b'"c d"e`:       {"a bc de"},
		`"" ''`:             {"", ""},
		`a\ b "c\"d" 'e\f'`: {"a b", `c"d`, `e\f`},
		`"\a" $HOME * | ;`:  {`\a`, "$HOME", "*", "|", ";"},
	} {
		cfg := fakeConfig(t, "serve")
		cfg.Spec.Kind = target.KindExec
		cfg.Spec.Exec = cfg.Self + " --xds-address {xds} " + line
		got := start(t, cfg).Info().Command[3:]
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

func TestExecWithoutMetricsSaysHowToGiveThem(t *testing.T) {
	cfg := fakeConfig(t, "serve")
	cfg.Spec.Kind = target.KindExec
	cfg.Spec.Exec = cfg.Self + " --xds-address {xds}"
	tg := start(t, cfg)
	if _, err := tg.Replicas()[0].Scrape(t.Context()); !errors.Is(err, target.ErrNoMetrics) {
		t.Errorf("Scrape: %v", err)
	}
	if _, err := tg.Replicas()[0].FetchProfile(t.Context(), "heap", 0); !errors.Is(err, target.ErrNoPprof) {
		t.Errorf("FetchProfile: %v", err)
	}
	if v := tg.Info().Version; !strings.Contains(v, "xdsbench/target") {
		t.Errorf("Version = %q, want what Go built into the program", v)
	}
}

func TestUsageOfAnExecTargetCountsItsWholeGroup(t *testing.T) {
	cfg := fakeConfig(t, "parent")
	cfg.Spec.Kind = target.KindExec
	cfg.Spec.Exec = `sh -c '"$0" "$@"; exit' ` + cfg.Self + " --xds-address {xds}"
	usage, err := start(t, cfg).Usage(t.Context())
	// The shell alone takes about 1 MiB, the test binary below it over 8 MiB.
	if err != nil || usage.RSSBytes < 6<<20 {
		t.Errorf("Usage() = %+v, %v", usage, err)
	}
}

func TestStartSaysWhatIsWrongWithAProgramThatCannotRun(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/no/such/istiod": "no such file",
		plain:             "permission denied",
		"no-such-istiod":  "not found in $PATH",
	} {
		cfg := fakeConfig(t, "serve")
		cfg.Spec.Kind, cfg.Spec.Binary = target.KindIstiod, path
		_, err := target.Start(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

func TestStartNeedsAKubeconfigThatExists(t *testing.T) {
	cfg := fakeConfig(t, "serve")
	cfg.Kubeconfig = "/no/such/kubeconfig"
	if _, err := target.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "/no/such/kubeconfig") {
		t.Errorf("got %v", err)
	}
	cfg.Kubeconfig = ""
	if _, err := target.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "needs a kubeconfig") {
		t.Errorf("got %v", err)
	}
}

func TestExternalTargetIsCheckedMeasuredAndLeftAlone(t *testing.T) {
	serving := start(t, fakeConfig(t, "serve"))
	spec := target.DefaultSpec()
	spec.Kind = target.KindExternal
	spec.XDSAddress = serving.XDSAddresses()[0] + ", " + serving.XDSAddresses()[0]
	spec.MetricsURL = serving.Info().MetricsURL
	tg, err := target.Start(t.Context(), target.Config{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	if len(tg.XDSAddresses()) != 2 || tg.Replicas()[0].Exited() != nil || tg.Info().PID != 0 || tg.Info().Env != nil {
		t.Errorf("Info() = %+v", tg.Info())
	}
	usage, err := tg.Usage(t.Context())
	if err != nil || usage.RSSBytes < 1<<20 || usage.PeakRSSBytes < usage.RSSBytes {
		t.Errorf("Usage() = %+v, %v", usage, err)
	}
	if err := tg.Replicas()[0].Restart(t.Context()); err == nil {
		t.Error("Restart: no error")
	}
	if err := tg.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if !accepts(serving.XDSAddresses()[0]) {
		t.Error("Stop ended an external target")
	}
	if err := serving.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = target.Start(t.Context(), target.Config{Spec: spec})
	if err == nil || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), "start the control plane first") {
		t.Errorf("got %v", err)
	}
}
