package target_test

import (
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/target"
)

func TestDefaultSpecIsValid(t *testing.T) {
	if err := target.DefaultSpec().Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateListsAllProblemsByField(t *testing.T) {
	exec := func(line string) func(*target.Spec) {
		return func(s *target.Spec) { s.Kind, s.Exec = "exec", line }
	}
	external := func(address string) func(*target.Spec) {
		return func(s *target.Spec) { s.Kind, s.XDSAddress = "external", address }
	}
	cases := map[string]struct {
		change func(*target.Spec)
		want   []string // beginnings of the lines, "" for valid
	}{
		"unknown kind":         {func(s *target.Spec) { s.Kind = "envoy" }, []string{`target.kind: "envoy": must be`}},
		"unknown priority":     {func(s *target.Spec) { s.Priority = "high" }, []string{`target.priority: "high": must be normal, low or idle`}},
		"idle":                 {func(s *target.Spec) { s.Priority = "idle" }, nil},
		"istiod with binary":   {func(s *target.Spec) { s.Kind, s.Binary = "istiod", "pilot-discovery" }, nil},
		"embedded with binary": {func(s *target.Spec) { s.Binary = "x" }, []string{`target.binary: "x": only kind istiod uses it`}},
		"exec":                 {exec("cp --listen {xds}"), nil},
		"exec, empty":          {exec(" "), []string{"target.exec:"}},
		"exec, open quote":     {exec("cp '{xds}"), []string{`target.exec: "cp '{xds}": a single quote`}},
		"exec, no address":     {exec("cp"), []string{`target.exec: "cp": has no {xds}`}},
		"exec, own address": {func(s *target.Spec) {
			s.Kind, s.Exec, s.XDSAddress = "exec", "cp", "127.0.0.1:18000"
		}, nil},
		"exec, unknown placeholder": {exec("cp {xds} {port}"), []string{"target.exec: {port}:"}},
		"exec, metrics not passed": {func(s *target.Spec) {
			s.Kind, s.Exec, s.MetricsURL = "exec", "cp {xds}", "http://{metrics}/stats"
		}, []string{"target.metricsURL:"}},
		"external":              {external("[::1]:15010, cp.example:15010"), nil},
		"external, no address":  {external(""), []string{`target.xdsAddress: ""`}},
		"external, sockets":     {external(" unix:/run/ads , unix:///run/ads.sock,[fd00::1]:80 "), nil},
		"external, no host":     {external(":15010"), []string{`target.xdsAddress: ":15010": must be HOST:PORT`}},
		"external, bare IPv6":   {external("fd00::1:15010"), []string{`target.xdsAddress: "fd00::1:15010": must be HOST:PORT, an IPv6 host in brackets`}},
		"external, URL":         {external("http://h:80"), []string{`target.xdsAddress: "http://h:80": must be HOST:PORT`}},
		"external, bad ports":   {external("h:0, h:http, h:65536"), []string{`target.xdsAddress: "h:0": port`, `target.xdsAddress: "h:http": port`, `target.xdsAddress: "h:65536": port`}},
		"external, empty one":   {external("h:1,,h:2"), []string{`target.xdsAddress: "": must be HOST:PORT`}},
		"external, bad socket":  {external("unix:run/ads"), []string{`target.xdsAddress: "unix:run/ads": must name the socket`}},
		"external, bad address": {external("localhost"), []string{`target.xdsAddress: "localhost"`}},
		"external with env": {func(s *target.Spec) {
			s.Kind, s.XDSAddress, s.Env = "external", "h:1", map[string]string{"B": "1", "A": "2"}
		}, []string{"target.env: A, B: an external"}},
		"several": {func(s *target.Spec) {
			s.Kind, s.XDSAddress, s.MetricsURL, s.ConnectionLimit = "external", "h", "ftp://h", "none"
			s.Env = map[string]string{"": "x"}
		}, []string{
			"target.xdsAddress:", "target.env:", `target.env: "":`,
			"target.metricsURL:", "target.connectionLimit:",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spec := target.DefaultSpec()
			c.change(&spec)
			err := spec.Validate()
			if err == nil {
				if len(c.want) > 0 {
					t.Fatalf("valid, want %q", c.want)
				}
				return
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("got %d problems, want %d:\n%v", len(lines), len(c.want), err)
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, c.want[i]) {
					t.Errorf("line %q, want it to begin with %q", line, c.want[i])
				}
			}
		})
	}
}
