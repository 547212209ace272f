package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/profiles"
)

// planSchema names the layout of a plan file.
const planSchema = "xdsbench/sweep/v1"

// Plan is what a sweep is to run.
type Plan struct {
	Schema string `json:"schema"`
	// Base is the profile that settings are laid over.
	Base *profiles.Profile `json:"base"`
	Vary []Vary            `json:"vary"`
	// Repeat is how often each setting is run.
	Repeat int `json:"repeat"`
	// Kubeconfig and Context name the API server; empty is an in-memory one.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
}

// Setting is one combination of values.
type Setting struct {
	// ID is unique in the sweep, and fit for a file's name.
	ID string
	// Name is for people: "PILOT_DEBOUNCE_AFTER=10ms GOGC=50".
	Name string
	// Values has one value per varied field, in the plan's order.
	Values  []string
	Profile *profiles.Profile
	// Base says that the profile is the base profile as it is.
	Base bool
}

// Settings returns the full cross product, the first field varying slowest. The
// error lists every problem of every setting, each once.
func (p *Plan) Settings() ([]Setting, error) { return p.expand(harness.CheckRunnable) }

// expand is Settings with the check that each setting has to pass: a report does not
// ask what this machine can run.
func (p *Plan) expand(check func(*profiles.Profile) error) ([]Setting, error) {
	var errs []error
	if p.Repeat < 1 {
		errs = append(errs, fmt.Errorf("--repeat: %d: must be at least 1", p.Repeat))
	}
	base, err := json.Marshal(p.Base)
	if err != nil {
		return nil, err
	}
	found := problems{}
	combinations := p.combinations()
	settings := make([]Setting, 0, len(combinations))
	for i, values := range combinations {
		s := p.setting(i, values)
		s.Profile, err = p.Base.With(p.assignments(values)...)
		if err == nil {
			err = check(s.Profile)
		}
		if err != nil {
			found.add(s.Name, err)
			continue
		}
		data, err := json.Marshal(s.Profile)
		if err != nil {
			return nil, err
		}
		s.Base = bytes.Equal(data, base)
		settings = append(settings, s)
	}
	return settings, errors.Join(append(errs, found.errors()...)...)
}

// variedLoad names the first varied field that changes what is asked of the control
// plane; empty if there is none.
func (p *Plan) variedLoad() string {
	for _, v := range p.Vary {
		if profiles.RoleOf(v.Field) == profiles.RoleLoad {
			return v.Field
		}
	}
	return ""
}

// variesTarget reports whether settings have control planes of their own.
func (p *Plan) variesTarget() bool {
	return slices.ContainsFunc(p.Vary, func(v Vary) bool {
		return strings.HasPrefix(v.Field, "target.") && !strings.HasPrefix(v.Field, "target.env.")
	})
}

func (p *Plan) combinations() [][]string {
	all := [][]string{nil}
	for _, v := range p.Vary {
		var longer [][]string
		for _, head := range all {
			for _, value := range v.Values {
				longer = append(longer, append(slices.Clone(head), value))
			}
		}
		all = longer
	}
	return all
}

// assignments are the values as "field=value".
func (p *Plan) assignments(values []string) []string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = p.Vary[i].Field + "=" + value
	}
	return all
}

func (p *Plan) setting(i int, values []string) Setting {
	parts := make([]string, len(values))
	for k, value := range values {
		parts[k] = p.Vary[k].shortName() + "=" + value
	}
	return Setting{
		ID: fmt.Sprintf("%02d-%s", i+1, fileName(strings.Join(parts, ","))), Name: strings.Join(parts, " "), Values: values,
	}
}

// longestName keeps folders' names within what file systems take.
const longestName = 100

// fileName replaces what is awkward in a file's name or a shell.
func fileName(text string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(".,=_-", r):
			return r
		}
		return '_'
	}, text)
	return safe[:min(len(safe), longestName)]
}

// run is one run of a plan.
type run struct {
	setting Setting
	// repeat counts from 1.
	repeat int
}

// name is the run's folder within that of all runs.
func (r run) name() string { return fmt.Sprintf("%s/%d", r.setting.ID, r.repeat) }

// order lists all runs, each round of repeats shuffled by itself, so that a drift
// of the machine does not favour a setting, and an interrupted sweep has whole
// rounds. It depends on the base profile's seed alone.
func (p *Plan) order(settings []Setting) []run {
	var all []run
	for repeat := 1; repeat <= p.Repeat; repeat++ {
		r := rand.New(rand.NewPCG(p.Base.Seed, uint64(repeat)))
		for _, i := range r.Perm(len(settings)) {
			all = append(all, run{setting: settings[i], repeat: repeat})
		}
	}
	return all
}

// Estimate is about how long all runs take: the phases, the time to connect, and
// a few seconds to start and stop. It knows nothing of a slow target.
func (p *Plan) Estimate(settings []Setting) time.Duration {
	var total time.Duration
	for _, s := range settings {
		total += estimate(s.Profile)
	}
	return total * time.Duration(p.Repeat)
}

// startAndStop is what a run takes besides its phases, with the embedded target.
const startAndStop = 3 * time.Second

func estimate(p *profiles.Profile) time.Duration {
	connect := time.Duration(float64(p.Proxies.Count) / float64(p.Proxies.ConnectRate) * float64(time.Second))
	return connect + p.Phases.Warmup.Duration + p.Phases.Idle.Duration + p.Phases.Steady.Duration + startAndStop
}

// problems collects what is wrong with settings, each line once.
type problems struct {
	lines []string
	in    map[string][]string // names of settings by line
}

func (p *problems) add(setting string, err error) {
	if p.in == nil {
		p.in = make(map[string][]string)
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		line = strings.TrimPrefix(line, "--set ")
		if p.in[line] == nil {
			p.lines = append(p.lines, line)
		}
		p.in[line] = append(p.in[line], setting)
	}
}

func (p *problems) errors() []error {
	var errs []error
	for _, line := range p.lines {
		where := p.in[line][0]
		if more := len(p.in[line]) - 1; more > 0 {
			where = fmt.Sprintf("%s and %d more", where, more)
		}
		errs = append(errs, fmt.Errorf("--vary: %s (in the setting %s)", line, where))
	}
	return errs
}
