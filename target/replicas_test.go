package target_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/target"
)

func TestReplicasHaveAddressesLogsAndLivesOfTheirOwn(t *testing.T) {
	cfg := fakeConfig(t, "serve")
	cfg.Spec.Kind, cfg.Spec.Binary, cfg.Spec.Replicas = target.KindIstiod, cfg.Self, 3
	tg := start(t, cfg)
	replicas := tg.Replicas()
	seen := map[string]bool{}
	for i, r := range replicas {
		info := r.Info()
		for _, own := range []string{info.XDSAddresses[0], info.MetricsURL, info.Log, info.Env["POD_NAME"]} {
			if seen[own] {
				t.Errorf("replica %d shares %s with another", i, own)
			}
			seen[own] = true
		}
		if tg.XDSAddresses()[i] != info.XDSAddresses[0] || !accepts(info.XDSAddresses[0]) {
			t.Errorf("replica %d at %q, of %q", i, info.XDSAddresses, tg.XDSAddresses())
		}
		if _, err := os.Stat(filepath.Join(cfg.Dir, target.FileOf(target.LogFile, i))); err != nil {
			t.Error(err)
		}
	}
	if err := replicas[1].Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, r := range replicas {
		if up := accepts(r.XDSAddresses()[0]); up != (i != 1) {
			t.Errorf("replica %d accepts connections: %t", i, up)
		}
	}
	checkSum(t, tg)
	if err := replicas[1].Restart(t.Context()); err != nil || !accepts(replicas[1].XDSAddresses()[0]) {
		t.Errorf("restart: %v", err)
	}
}

// checkSum checks that the target's usage is that of its replicas.
func checkSum(t *testing.T, tg *target.Target) {
	t.Helper()
	all, err := tg.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var peak uint64
	for _, r := range tg.Replicas() {
		u, err := r.Usage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		peak += u.PeakRSSBytes
	}
	if all.PeakRSSBytes == 0 || peak < all.PeakRSSBytes {
		t.Errorf("peak of the target %d, of its replicas together %d", all.PeakRSSBytes, peak)
	}
}

func TestReplicaThatCannotStartEndsTheOthers(t *testing.T) {
	cfg := fakeConfig(t, "crash")
	cfg.Spec.Replicas = 2
	_, err := target.Start(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "target-1.log") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v", err)
	}
}

func TestExternalTargetHasAReplicaPerAddress(t *testing.T) {
	cfg := fakeConfig(t, "serve")
	cfg.Spec.Replicas = 2
	started := start(t, cfg)
	var metrics []string
	for _, r := range started.Replicas() {
		metrics = append(metrics, r.Info().MetricsURL)
	}
	spec := target.DefaultSpec()
	spec.Kind, spec.XDSAddress = target.KindExternal, strings.Join(started.XDSAddresses(), ", ")
	spec.MetricsURL = strings.Join(metrics, ",")
	tg := start(t, target.Config{Spec: spec})
	if !slices.Equal(tg.XDSAddresses(), started.XDSAddresses()) || len(tg.Replicas()) != 2 {
		t.Fatalf("addresses %q", tg.XDSAddresses())
	}
	for i, r := range tg.Replicas() {
		if _, err := r.Scrape(t.Context()); err != nil || r.Info().MetricsURL != metrics[i] {
			t.Errorf("replica %d: metrics at %s: %v", i, r.Info().MetricsURL, err)
		}
	}
	checkSum(t, tg)
}

func TestOutageTakesTheLastReplicasOrThoseNamed(t *testing.T) {
	for _, test := range []struct {
		outage target.OutageSpec
		want   []int
	}{
		{target.OutageSpec{}, []int{0, 1, 2}},
		{target.OutageSpec{Replicas: 1}, []int{2}},
		{target.OutageSpec{Replicas: 3}, []int{0, 1, 2}},
		{target.OutageSpec{Replica: []int{2, 0}}, []int{0, 2}},
	} {
		if got := test.outage.Victims(3); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %v, want %v", test.outage, got, test.want)
		}
	}
}

func TestImpossibleReplicasAreRefusedByTheirFields(t *testing.T) {
	second := metav1.Duration{Duration: time.Second}
	for want, change := range map[string]func(*target.Spec){
		"target.replicas: 0":           func(s *target.Spec) { s.Replicas = 0 },
		"target.replicas: 65":          func(s *target.Spec) { s.Replicas = 65 },
		"target.replicas: 2: an exter": func(s *target.Spec) { s.Kind, s.XDSAddress, s.Replicas = target.KindExternal, "a:1", 2 },
		`target.balance: "sticky"`:     func(s *target.Spec) { s.Balance = "sticky" },
		`target.args: "--x"`:           func(s *target.Spec) { s.Kind, s.Exec, s.Args = target.KindExec, "x {xds}", []string{"--x"} },
		"target.xdsAddress":            func(s *target.Spec) { s.Kind, s.Exec, s.XDSAddress, s.Replicas = target.KindExec, "x {xds}", "a:1", 2 },
		"target.metricsURL: 2 URLs": func(s *target.Spec) {
			s.Kind, s.XDSAddress, s.MetricsURL = target.KindExternal, "a:1", "http://a,http://b"
		},
		"target.metricsURL: \"http://a": func(s *target.Spec) {
			s.Kind, s.Exec, s.MetricsURL, s.Replicas = target.KindExec, "x {xds}", "http://a", 2
		},
		"target.outage.replicas: 3":   func(s *target.Spec) { s.Outage = &target.OutageSpec{For: second, Replicas: 3} },
		"target.outage.replica[1]: 1": func(s *target.Spec) { s.Outage = &target.OutageSpec{For: second, Replica: []int{1, 1}} },
		"target.outage.replica: says": func(s *target.Spec) { s.Outage = &target.OutageSpec{For: second, Replica: []int{1}, Replicas: 1} },
	} {
		spec := target.DefaultSpec()
		spec.Replicas = 2
		if strings.Contains(want, "URLs") {
			spec.Replicas = 1
		}
		change(&spec)
		if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}
