package profiles_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/internal/rate"
	"github.com/xdsbench/xdsbench/profiles"
)

func TestEveryBuiltInProfileIsValidAndNamedAsItsFile(t *testing.T) {
	t.Parallel()
	names := profiles.Names()
	for _, want := range []string{"quickstart", "rolling-update", "smoke", "steady"} {
		if !strings.Contains(strings.Join(names, " "), want) {
			t.Errorf("no built-in profile %s in %v", want, names)
		}
	}
	for _, name := range names {
		p, err := profiles.Load(name, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Name != name || p.Description == "" {
			t.Errorf("%s: name %q, description %q", name, p.Name, p.Description)
		}
	}
}

func TestSettingsGoOverTheFileAndTheFileOverTheDefaults(t *testing.T) {
	t.Parallel()
	p, err := profiles.Parse([]byte(`
name: mine
mesh: {services: 7}
churn:
  - {kind: pod-delete, rate: 2/s}
target:
  env: {PILOT_PUSH_THROTTLE: 10}
`), []string{
		"mesh.services=9", "churn[0].rate=30/m", "churn[1].kind=pod-add", "churn[1].rate=1/s",
		"phases.steady=3s", "target.env.PILOT_DEBOUNCE_AFTER=10ms", "target.env.GOGC=50",
		"slo.propagation.all.p99=2s", "target.clusterName={service}.{namespace}:{port}",
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Mesh.Services != 9 || p.Mesh.Namespaces != profiles.Default().Mesh.Namespaces {
		t.Errorf("mesh: %+v", p.Mesh)
	}
	if len(p.Churn) != 2 || p.Churn[0].Rate != 0.5 || p.Churn[1].Kind != "pod-add" {
		t.Errorf("churn: %+v", p.Churn)
	}
	if p.Phases.Steady.Duration != 3*time.Second {
		t.Errorf("steady: %v", p.Phases.Steady)
	}
	env := p.Target.Env
	if env["PILOT_PUSH_THROTTLE"] != "10" || env["PILOT_DEBOUNCE_AFTER"] != "10ms" || env["GOGC"] != "50" {
		t.Errorf("env: %v", env)
	}
	if p.Target.ClusterName != "{service}.{namespace}:{port}" {
		t.Errorf("cluster name: %s", p.Target.ClusterName)
	}
	if p.SLO["propagation.all.p99"] != "2s" {
		t.Errorf("slo: %v", p.SLO)
	}
}

func TestAllProblemsAreReportedAtOnceWithFieldAndValue(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		yaml     string
		settings []string
		want     []string
	}{
		"unknown fields": {
			yaml: "mesh: {servces: 3}\nproxys: {}\n",
			want: []string{"mesh.servces: line 1, column 8: unknown field: did you mean mesh.services?", "proxys: line 2, column 1: unknown field: did you mean proxies?"},
		},
		"impossible values": {
			yaml:     "proxies: {count: 0}\nmesh: {services: -3}\n",
			settings: []string{"phases.drain=-1s"},
			want:     []string{"proxies.count: line 1, column 18: 0: must", "mesh.services: line 2, column 18: -3: must", "phases.drain: -1s: must"},
		},
		"negative rate":        {settings: []string{"churn[0].kind=pod-add", "churn[0].rate=-1/s"}, want: []string{`-1/s`, "negative"}},
		"unknown kind":         {settings: []string{"churn[0].kind=nope", "churn[0].rate=1/s"}, want: []string{"churn[0].kind", "nope"}},
		"no equals sign":       {settings: []string{"mesh.services"}, want: []string{"mesh.services", "field=value"}},
		"index past the end":   {settings: []string{"churn[3].rate=1/s"}, want: []string{"churn[3]", "past the end"}},
		"index into no list":   {settings: []string{"mesh[0]=1"}, yaml: "mesh: {services: 1}", want: []string{"mesh[0]: [0] is not an index into a list"}},
		"field below a scalar": {settings: []string{"seed.x=1"}, yaml: "seed: 3", want: []string{"seed.x: unknown field: seed is a plain value"}},
		"duration without unit": {
			settings: []string{"phases.steady=20"}, want: []string{"phases.steady", "20s"},
		},
		"text for a number": {settings: []string{"mesh.services=many"}, want: []string{`mesh.services: "many" is not a whole number`}},
		"not YAML":          {yaml: "a: [", want: []string{"not valid YAML"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := profiles.Parse([]byte(test.yaml), test.settings)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in:\n%v", want, err)
				}
			}
		})
	}
}

// YAML 1.1 takes n, on and off for booleans.
func TestFieldsNamedAsBooleansOnceWereAreRead(t *testing.T) {
	t.Parallel()
	p, err := profiles.Parse([]byte("churn:\n- {kind: pod-add, schedule: burst, n: 3, every: 4s}\n"),
		[]string{`churn[1]={kind: pod-add, schedule: on-off, rate: 1/s, on: 5s, off: 2s}`})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := p.Churn[0], p.Churn[1]; a.N != 3 || b.On.Duration != 5*time.Second || b.Off.Duration != 2*time.Second {
		t.Errorf("churn: %+v", p.Churn)
	}
}

func TestUnknownProfileNamesThoseThereAre(t *testing.T) {
	t.Parallel()
	_, err := profiles.Load("quickstrat", nil)
	if err == nil || !strings.Contains(err.Error(), `"quickstrat"`) || !strings.Contains(err.Error(), "quickstart") {
		t.Errorf("error: %v", err)
	}
}

func TestFileErrorsNameTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(file, []byte("proxies: {count: -1}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + ".missing"} {
		if _, err := profiles.LoadFile(name, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error: %v", err)
		}
	}
}

func TestSetRateKeepsTheProportionsOfTheKinds(t *testing.T) {
	t.Parallel()
	p, err := profiles.Load("quickstart", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.SetRate(20); err != nil {
		t.Fatal(err)
	}
	if p.Churn[0].Rate != 10 || p.Churn[1].Rate != 5 || p.Churn[2].Rate != 5 {
		t.Errorf("churn: %+v", p.Churn)
	}
	empty := profiles.Default()
	if err := empty.SetRate(rate.Rate(1)); err == nil {
		t.Error("a profile without churn took a rate")
	}
}

func TestOutageMustLieWithinTheSteadyPhase(t *testing.T) {
	t.Parallel()
	for want, settings := range map[string][]string{
		"":                                    {"target.outage.at=2s", "target.outage.for=3s"},
		"target.outage: ends 6s":              {"target.outage.at=2s", "target.outage.for=4s"},
		"target.outage.for: 0s":               {"target.outage.at=2s"},
		"target.outage.at: -1s":               {"target.outage.at=-1s", "target.outage.for=1s"},
		"target.outage: an external target":   {"target.outage.for=1s", "target.kind=external", "target.xdsAddress=127.0.0.1:1"},
		"target.outage.length: unknown field": {"target.outage.length=1s"},
	} {
		_, err := profiles.Load("smoke", settings)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", settings, err, want)
		}
	}
}

func TestClusterNamesHaveOneTemplateLanguage(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"{namespace}/{service}:{portName}": "",
		"{service}":                        `target.clusterName: "{service}": needs {port} or {portName}`,
		"{service}-{subset}-{port}":        `target.clusterName: "{service}-{subset}-{port}": unknown placeholder {subset}: there are {service}, {namespace}, {port}, {portName}`,
		"{port}":                           `target.clusterName: "{port}": needs {service}`,
	} {
		_, err := profiles.Load("smoke", []string{"mesh.ports=2", "target.clusterName=" + template})
		if (want == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", template, err, want)
		}
	}
}

func TestFleetMustFitIntoTheMeshsAddresses(t *testing.T) {
	t.Parallel()
	_, err := profiles.Load("smoke", []string{"proxies.count=2000000000"})
	if err == nil || !strings.Contains(err.Error(), "proxies.count: 2000000000: must be at most") {
		t.Errorf("got %v", err)
	}
}

func TestWithLaysSettingsOverACopy(t *testing.T) {
	p, err := profiles.Load("quickstart", nil)
	if err != nil {
		t.Fatal(err)
	}
	before := *p
	changed, err := p.With("rate=7/s", "proxies.count=33", "target.env.PILOT_DEBOUNCE_AFTER=10ms")
	if err != nil {
		t.Fatal(err)
	}
	var total rate.Rate
	for _, c := range changed.Churn {
		total += c.Rate
	}
	if total < 6.999 || total > 7.001 || changed.Proxies.Count != 33 || changed.Target.Env["PILOT_DEBOUNCE_AFTER"] != "10ms" {
		t.Errorf("With: rate %v, %+v", total, changed)
	}
	if diff := cmp.Diff(before, *p); diff != "" {
		t.Errorf("With changed the profile that it was called on:\n%s", diff)
	}
	if _, err := p.With("rate=fast"); err == nil {
		t.Error("rate=fast was accepted")
	}
	if _, err := p.With("proxies.size=3"); err == nil {
		t.Error("an unknown field was accepted")
	}
}
