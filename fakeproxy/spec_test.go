package fakeproxy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/misbehave"
	"github.com/xdsbench/xdsbench/fakeproxy/node"
)

func TestDefaultSpecIsValid(t *testing.T) {
	if err := fakeproxy.DefaultSpec().Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateListsEveryProblemByPath(t *testing.T) {
	var s fakeproxy.Spec
	s.Nack = misbehave.Nack{Rate: 2, Types: []string{"xds"}}
	s.SourceAddresses = []string{"10.0.0.1"}
	s.MaxReceiveBytes = -1
	s.Reconnect.Initial.Duration = 2
	s.Reconnect.Max.Duration = 1
	err := s.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	for _, path := range []string{
		"proxies.count: 0:", "proxies.variant:", "proxies.transport:", "proxies.unwatched:", "proxies.connectRate: 0/s:", "proxies.streamsPerConnection: 0:",
		"proxies.sourceAddresses[0]:", "proxies.maxReceiveBytes: -1:", "proxies.sotwDuplicates:",
		"proxies.reconnect.max:", "proxies.nack.rate: 2:", "proxies.nack.types[0]:",
	} {
		found := false
		for _, l := range lines {
			found = found || strings.HasPrefix(l, path)
		}
		if !found {
			t.Errorf("no line begins with %q in:\n%v", path, err)
		}
	}
	if len(lines) != 12 {
		t.Errorf("%d lines:\n%v", len(lines), err)
	}
}

func TestSpecReadsTheProfilesNotation(t *testing.T) {
	s := fakeproxy.DefaultSpec()
	text := `{"count":7,"variant":"mixed","connectRate":"5/s","initialFetchTimeout":"3s","reconnect":{"initial":"1s"}}`
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if s.Count != 7 || s.ConnectRate != 5 || s.Reconnect.Initial.Seconds() != 1 || s.Reconnect.Max.Seconds() != 30 {
		t.Errorf("read %+v", s)
	}
}

func TestMixedVariantsAlternateWithinEachKindSotWFirst(t *testing.T) {
	s := fakeproxy.DefaultSpec()
	s.Variant = fakeproxy.VariantMixed
	for i, want := range []xds.Variant{xds.SotW, xds.Delta, xds.SotW, xds.Delta} {
		for _, kind := range node.Kinds() {
			if kind == node.Ztunnel {
				want = xds.Delta
			}
			if got := s.VariantOf(kind, i); got != want {
				t.Errorf("%s number %d speaks %s, want %s", kind, i, got, want)
			}
		}
	}
}

func TestCheckLimitsSaysWhatIsNeededAndAllowed(t *testing.T) {
	s := fakeproxy.DefaultSpec()
	if err := fakeproxy.CheckLimits(s); err != nil {
		t.Errorf("100 proxies: %v", err)
	}
	s.Count = 2_000_000_000
	s.SourceAddresses = []string{"127.0.0.1"}
	err := fakeproxy.CheckLimits(s)
	if err == nil || !strings.Contains(err.Error(), "RLIMIT_NOFILE") || !strings.Contains(err.Error(), "ephemeral ports") {
		t.Errorf("got %v", err)
	}
}

func TestNewRefusesTooManyConnectionsToARemoteTarget(t *testing.T) {
	cfg := config("192.0.2.1:15010", xds.Delta, 60_000)
	if _, err := fakeproxy.New(cfg); err == nil || !strings.Contains(err.Error(), "127.0.0.0/8") {
		t.Errorf("got %v", err)
	}
	cfg.Addresses = []string{"127.0.0.1:15010"}
	if _, err := fakeproxy.New(cfg); err != nil {
		t.Errorf("on loopback: %v", err)
	}
}
