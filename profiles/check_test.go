package profiles_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/profiles"
)

// badProfile has a problem of every sort.
const badProfile = `name: [a, b]
seed: -1
mesh:
  services: many
  namespaces: 1.5
  ports: "2"
  headless: most
  servces: 3
proxies:
  count: 12
  count: 0
  connectRate: fast
  initialFetchTimeout: 15
  sourceAddresses: 127.0.0.2
  nack: {rate: 0.5, type: [cds]}
  applyDelay: {distribution: uniform, mn: 1ms}
  kinds: [sidecar]
churn:
- kind: pod-ad
  rate: 1/s
- pod-add
services: 7
phases: 20s
target: {kind: istiod, replicas: 99999999999999999999}
pprof: {heap: 1}
slo: {propagation.all.p99: {max: 2s}}
`

func TestEveryProblemOfAFileIsListedWithItsPlace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(file, []byte(badProfile), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := profiles.LoadFile(file, nil)
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{ // lists of what is known are cut short
		`name: line 1, column 7: a list is not text`,
		`seed: line 2, column 7: "-1" is not a whole number of 0 or more`,
		`mesh.services: line 4, column 13: "many" is not a whole number`,
		`mesh.namespaces: line 5, column 15: "1.5" is not a whole number`,
		`mesh.ports: line 6, column 10: "2" is text, not a whole number: leave the quotes out`,
		`mesh.headless: line 7, column 13: "most" is not a number`,
		`mesh.servces: line 8, column 3: unknown field: did you mean mesh.services?`,
		`proxies.count: line 11, column 3: is given twice, first in line 10`,
		`proxies.connectRate: line 12, column 16: "fast" is not a rate: write a number per second, minute or hour, such as 50/s, 10/m or 5/h`,
		`proxies.initialFetchTimeout: line 13, column 24: "15" is not a duration: write a number with its unit, such as 20s or 250ms`,
		`proxies.sourceAddresses: line 14, column 20: "127.0.0.2" stands where a list is wanted`,
		`proxies.nack.type: line 15, column 21: unknown field: did you mean proxies.nack.types?`,
		`proxies.applyDelay.mn: line 16, column 39: unknown field: did you mean proxies.applyDelay.min?`,
		`proxies.kinds: line 17, column 10: a list stands where a mapping is wanted of names, each with its value`,
		`churn[1]: line 21, column 3: "pod-add" stands where a mapping is wanted of fields: kind, rate, `,
		`services: line 22, column 1: unknown field: did you mean mesh.services?`,
		`phases: line 23, column 9: "20s" stands where a mapping is wanted of fields: readyTimeout, `,
		`target.replicas: line 24, column 34: 99999999999999999999 is too large`,
		`pprof.heap: line 25, column 15: "1" is not true or false`,
		`slo.propagation.all.p99: line 26, column 28: a mapping is not text`,
		// What can be read is validated too.
		`churn[0].kind: line 19, column 9: "pod-ad": must be one of pod-delete, `,
	}
	lines := strings.Split(err.Error(), "\n")
	for _, w := range want {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, file+": "+w) }) {
			t.Errorf("not listed: %s", w)
		}
	}
	for _, line := range lines {
		text, ok := strings.CutPrefix(line, file+": ")
		if !ok || !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(text, w) }) {
			t.Errorf("not expected: %s", line)
		}
	}
}

func TestSettingsAreCheckedAsFilesAre(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"mesh.services=many":           `mesh.services: "many" is not a whole number`,
		"mesh.services=[1]":            `mesh.services: a list is not a whole number`,
		"mesh.services=":               `mesh.services: no value given`,
		"mesh.services.x=1":            `mesh.services.x: unknown field: mesh.services is a plain value, with no fields below it`,
		"servces=3":                    `servces: unknown field: there are name,`,
		"count=3":                      `count: unknown field: did you mean proxies.count?`,
		"churn[x].rate=1/s":            `churn[x].rate: [x].rate is not an index into a list, as in churn[0].rate`,
		"churn[0].rate=fast":           `churn[0].rate: "fast" is not a rate: write`,
		"churn[0].knd=pod-add":         `churn[0].knd: unknown field: did you mean churn[0].kind?`,
		"phases.steady=20":             `phases.steady: "20" is not a duration: write`,
		"phases.steady={service}:":     `phases.steady: "{service}:" is not a duration: write`,
		"pprof.heap=sometimes":         `pprof.heap: "sometimes" is not true or false`,
		"proxies.applyDelay={mn: 1ms}": `proxies.applyDelay.mn: unknown field: did you mean proxies.applyDelay.min?`,
		"target.outage={at: soon}":     `target.outage.at: "soon" is not a duration: write`,
		"proxies.count":                `--set "proxies.count": not of the form field=value`,
	} {
		for name, load := range map[string]func() (*profiles.Profile, error){
			"Parse": func() (*profiles.Profile, error) { return profiles.Parse(nil, []string{setting}) },
			"With": func() (*profiles.Profile, error) {
				p := profiles.Default()
				return p.With(setting)
			},
		} {
			_, err := load()
			if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, %s:\ngot  %v\nwant %s", name, setting, err, want)
			}
		}
	}
}

func TestProblemsOfSettingsAndFileAreListedTogether(t *testing.T) {
	t.Parallel()
	_, err := profiles.Parse([]byte("mesh: {ports: x}\nproxies: {count: 0, variant: both}\n"), []string{"proxies.count=-1", "mesh.headles=1"})
	want := strings.Join([]string{
		`mesh.ports: line 1, column 15: "x" is not a whole number`,
		`mesh.headles: unknown field: did you mean mesh.headless?`,
		`proxies.count: -1: must be at least 1`, // the setting's value, which has no line
		`proxies.variant: line 2, column 30: "both": must be sotw, delta or mixed`,
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestTextIsTakenAsItIsWritten(t *testing.T) {
	t.Parallel()
	p, err := profiles.Parse([]byte("target: {env: {A: 1.10, B: yes, C: 010, D: 2001-01-01}}\nslo: {propagation.all.p99: 2}\n"), []string{"target.env.E=1.10"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"A": "1.10", "B": "yes", "C": "010", "D": "2001-01-01", "E": "1.10"} {
		if got := p.Target.Env[name]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestAFieldWithoutAValueKeepsItsDefault(t *testing.T) {
	t.Parallel()
	p, err := profiles.Parse([]byte("seed:\nproxies: {connectRate: , count: ~}\nphases: {steady: null}\nmesh:\nchurn:\ntarget: {outage: }\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(profiles.Default(), *p); diff != "" {
		t.Error(diff)
	}
}

func TestAnchorsAndMergesAreFollowed(t *testing.T) {
	t.Parallel()
	p, err := profiles.Parse([]byte("churn:\n- &a {kind: pod-add, rate: 1/s}\n- {<<: *a, rate: 2/s}\n"), []string{"churn[1].pods=4"})
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Churn[1]; c.Kind != "pod-add" || c.Rate != 2 || c.Pods != 4 || p.Churn[0].Pods == 4 {
		t.Errorf("churn: %+v", p.Churn)
	}
	_, err = profiles.Parse([]byte("churn:\n- &a {kind: pod-add, rte: 1/s}\n- {<<: *a, rate: 2/s}\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "churn[1].rte: line 2, column 22: unknown field: did you mean churn[1].rate?") {
		t.Errorf("got %v", err)
	}
}

func TestAliasesThatExplodeAreRefused(t *testing.T) {
	t.Parallel()
	text := "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
	for c := 'b'; c <= 'k'; c++ {
		before := "*" + string(c-1)
		text += string(c) + ": &" + string(c) + " [" + strings.Repeat(before+", ", 9) + before + "]\n"
	}
	text += "churn: *k\n"
	if _, err := profiles.Parse([]byte(text), nil); err == nil {
		t.Error("no error")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(badProfile), "mesh.services=1")
	for _, name := range profiles.Names() {
		data, err := profiles.Source(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "churn[0].rate=5/s")
	}
	f.Fuzz(func(t *testing.T, data []byte, setting string) {
		p, err := profiles.Parse(data, []string{setting})
		if (p == nil) == (err == nil) {
			t.Fatalf("profile %v, error %v", p, err)
		}
		if p == nil {
			return
		}
		if _, err := p.With(); err != nil {
			t.Errorf("valid, but not when written and read again: %v", err)
		}
	})
}
