package capacity

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/internal/rate"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
)

// latencyMetric is the metric that latencies are read from.
const latencyMetric = "propagation.all.p99"

// planSchema names the layout of a plan file.
const planSchema = "xdsbench/capacity/v1"

// Plan is what to search for, and how.
type Plan struct {
	Schema string `json:"schema"`
	// Base is the profile that the field is set in, with the SLO in it.
	Base *profiles.Profile `json:"profile"`
	// Grow is the field's range.
	Grow Range `json:"grow"`
	// Step is the factor of growth.
	Step float64 `json:"step"`
	// Tolerance is the width of the bracket, as a share of its lower end, at which
	// the search is done.
	Tolerance float64 `json:"tolerance"`
	// Repeat is how often to search.
	Repeat int `json:"repeat"`
	// Soak is the length of the last run's steady phase; zero for none.
	Soak metav1.Duration `json:"soak"`
	// DefaultSLO says that neither the profile nor the command line had an SLO.
	DefaultSLO bool `json:"defaultSLO"`
	// Kubeconfig and Context name the API server; empty for the in-memory one.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
}

// UnmarshalJSON reads the plans of earlier versions too: they lack newer fields of
// the profile and have older names of metrics.
func (p *Plan) UnmarshalJSON(data []byte) error {
	type plain Plan
	base := profiles.Default()
	p.Base = &base
	if err := json.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	if p.Base == nil {
		return errors.New("the plan has no profile: the file is damaged")
	}
	for name, limit := range maps.Clone(p.Base.SLO) {
		if now, ok := result.RenamedMetric(name); ok {
			delete(p.Base.SLO, name)
			p.Base.SLO[now] = limit
		}
	}
	return nil
}

// Range is a field and the values that it may take.
type Range struct {
	// Field is the profile's, or "rate".
	Field string  `json:"field"`
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	// Whole values are those of a count, the others rates per second.
	Whole bool `json:"whole"`
}

// ParseGrow reads "FIELD=FROM..TO" for a field of the profile. The error lists
// every problem of the text; Plan.Validate finds values that the field cannot have.
func ParseGrow(text string, p *profiles.Profile) (Range, error) {
	option := fmt.Sprintf("--grow %q", text)
	field, span, ok := strings.Cut(text, "=")
	low, high, both := strings.Cut(span, "..")
	if !ok || !both || field == "" {
		return Range{}, problems(option, errors.New("want FIELD=FROM..TO, such as proxies=200..20000 or rate=1/s..200/s"))
	}
	shortNames := map[string]string{"proxies": "proxies.count", "services": "mesh.services", "endpoints": "mesh.endpointsPerService"}
	g := Range{Field: cmp.Or(shortNames[field], field)}
	from, errFrom := rate.Parse(low)
	to, errTo := rate.Parse(high)
	if err := errors.Join(errFrom, errTo); err != nil {
		return g, problems(option, fmt.Errorf("FROM and TO must be whole numbers or rates: %w", err))
	}
	g.From, g.To = float64(from), float64(to)
	var err error
	if g.Whole, err = isCount(g.Field, p); err != nil {
		return g, problems(option, err)
	}
	var errs []error
	if g.From <= 0 {
		errs = append(errs, fmt.Errorf("FROM is %s: must be above 0", low))
	}
	if g.To < g.From {
		errs = append(errs, fmt.Errorf("FROM (%s) is above TO (%s): swap them", low, high))
	}
	if g.Whole && (g.From != math.Trunc(g.From) || g.To != math.Trunc(g.To)) {
		errs = append(errs, fmt.Errorf("%s takes whole numbers only", g.Field))
	}
	return g, problems(option, errs...)
}

// problems names the option that each error is about.
func problems(option string, errs ...error) error {
	var all []error
	for _, err := range errs {
		all = append(all, fmt.Errorf("%s: %w", option, err))
	}
	return errors.Join(all...)
}

// isCount tells whether a field is a count or a rate, from what the profile makes
// of values of both kinds.
func isCount(field string, p *profiles.Profile) (bool, error) {
	if field == "rate" {
		return false, nil
	}
	if changed, err := p.With(field + "=60/m"); err == nil {
		if values, err := leaves(changed); err == nil && values[field] == "1/s" {
			return false, nil // text would have stayed as it is
		}
	}
	_, err := p.With(field + "=text")
	switch {
	case err != nil && strings.Contains(err.Error(), "unknown field"):
		return false, err
	case err == nil, profiles.RoleOf(field) != profiles.RoleLoad:
		return false, fmt.Errorf("%s is neither a whole number nor a rate; proxies, rate, services and endpoints are short names of fields that are", field)
	}
	return true, nil
}

// leaves returns the plain values of what is saved as JSON, by path.
func leaves(value any) (map[string]string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return experiment.Leaves(data)
}

// setting writes a value of the field as Profile.With takes it.
func (g Range) setting(value float64) string { return g.Field + "=" + g.text(value) }

// text writes a value of the field: a count, or a rate per second.
func (g Range) text(value float64) string {
	if g.Whole {
		return g.number(value)
	}
	return g.number(value) + "/s"
}

// number writes a value of the field without its unit.
func (g Range) number(value float64) string {
	if g.Whole {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 6, 64)
}

// round makes a value one that the field can take: a whole number, or four
// digits, which tell rates apart.
func (g Range) round(value float64) float64 {
	if g.Whole {
		return math.Round(value)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 4, 64), 64)
	if err != nil {
		return value
	}
	return rounded
}

// next is the value after this one, To at most; a count grows by one at least.
func (g Range) next(value, step float64) float64 {
	next := g.round(value * step)
	if next <= value {
		next = value + 1
	}
	return min(g.To, next)
}

// Validate lists everything that is wrong with the plan, one line each.
func (p *Plan) Validate() error {
	var errs []error
	if !(p.Step > 1 && p.Step <= 100) {
		errs = append(errs, fmt.Errorf("--step: %g: must be above 1, such as 2, and at most 100", p.Step))
	}
	if !(p.Tolerance > 0 && p.Tolerance < 1) {
		errs = append(errs, fmt.Errorf("--tolerance: %g %%: must be above 0 and below 100, such as 5%%", p.Tolerance*100))
	}
	if p.Repeat < 1 || p.Repeat > 100 {
		errs = append(errs, fmt.Errorf("--repeat: %d: must be from 1 to 100", p.Repeat))
	}
	if p.Soak.Duration < 0 {
		errs = append(errs, fmt.Errorf("--soak: %s: must not be negative", p.Soak.Duration))
	}
	errs = append(errs, harness.CheckRunnable(p.Base))
	if errors.Join(errs...) == nil && p.Grow.Field != "" {
		errs = append(errs, p.validateEnds())
	}
	return errors.Join(errs...)
}

// validateEnds finds at once what would end the search after hours.
func (p *Plan) validateEnds() error {
	var errs []error
	for _, v := range []float64{p.Grow.From, p.Grow.To} {
		at, err := p.Base.With(p.Grow.setting(v))
		if err == nil {
			err = harness.CheckRunnable(at)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--grow: at %s: %w", p.Grow.setting(v), err))
		}
	}
	if p.Soak.Duration > 0 {
		if err := harness.CheckRunnable(p.soakProfile(p.Base)); err != nil {
			errs = append(errs, fmt.Errorf("--soak %s: %w", p.Soak.Duration, err))
		}
	}
	return errors.Join(errs...)
}

// soakProfile is the profile of the soak at the load of base.
func (p *Plan) soakProfile(base *profiles.Profile) *profiles.Profile {
	long := *base
	long.Phases.Steady.Duration = p.Soak.Duration
	return &long
}

// WithSLO returns the profile with limits, each "metric=limit", added to its SLO,
// or with the default one, and byDefault true, if there is none.
func WithSLO(p *profiles.Profile, limits []string) (changed *profiles.Profile, byDefault bool, err error) {
	var errs []error
	for _, l := range limits {
		if metric, limit, ok := strings.Cut(l, "="); !ok || metric == "" || limit == "" {
			errs = append(errs, fmt.Errorf("--slo %q: want METRIC=LIMIT, such as propagation.all.p99=2s", l))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, false, err
	}
	if byDefault = len(p.SLO) == 0 && len(limits) == 0; byDefault {
		limits = []string{latencyMetric + "=2s", "propagation.undelivered=0", "convergence.diverged=0"}
	}
	settings := slices.Clone(limits)
	for i := range settings {
		settings[i] = "slo." + settings[i]
	}
	changed, err = p.With(settings...)
	return changed, byDefault, err
}

// sloText writes the SLO, with the direction of each limit.
func (p *Plan) sloText() string {
	var limits []string
	for _, name := range slices.Sorted(maps.Keys(p.Base.SLO)) {
		limit := p.Base.SLO[name]
		if !strings.HasPrefix(limit, "<=") && !strings.HasPrefix(limit, ">=") {
			limit = "<= " + limit
		}
		limits = append(limits, name+" "+limit)
	}
	text := strings.Join(limits, ", ")
	if p.DefaultSLO {
		text += " (the default, since the profile has none)"
	}
	return text
}
