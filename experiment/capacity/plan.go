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

	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/internal/rate"
	"github.com/xdsbench/xdsbench/profiles"
)

// p99 is the metric of latency.
const p99 = "propagation.all.p99"

// PlanSchema names the layout of a plan file.
const PlanSchema = "xdsbench/capacity/v1"

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
	// Kubeconfig and Context are where the mesh is, if not in memory.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
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

// fields are short names of profile fields.
func fields() map[string]string {
	return map[string]string{"proxies": "proxies.count", "services": "mesh.services", "endpoints": "mesh.endpointsPerService"}
}

// defaultSLO is the SLO of a profile without one.
func defaultSLO() map[string]string {
	return map[string]string{p99: "2s", "propagation.undelivered": "0", "convergence.diverged": "0"}
}

// ParseGrow reads "FIELD=FROM..TO" for a field of the profile. The error lists
// every problem.
func ParseGrow(text string, p *profiles.Profile) (Range, error) {
	bad := func(format string, args ...any) (Range, error) {
		return Range{}, fmt.Errorf("--grow %q: "+format, append([]any{text}, args...)...)
	}
	field, span, ok := strings.Cut(text, "=")
	low, high, both := strings.Cut(span, "..")
	if !ok || !both || field == "" {
		return bad("want FIELD=FROM..TO, such as proxies=200..20000 or rate=1/s..200/s")
	}
	g := Range{Field: cmp.Or(fields()[field], field)}
	from, errFrom := rate.Parse(low)
	to, errTo := rate.Parse(high)
	if err := errors.Join(errFrom, errTo); err != nil {
		return bad("FROM and TO must be whole numbers or rates: %w", err)
	}
	g.From, g.To = float64(from), float64(to)
	whole, err := g.kind(p)
	if err != nil {
		return bad("%w", err)
	}
	g.Whole = whole
	var problems []error
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("--grow %q: "+format, append([]any{text}, args...)...))
	}
	if g.From <= 0 {
		problem("FROM is %s: must be above 0", low)
	}
	if g.To < g.From {
		problem("FROM (%s) is above TO (%s): exchange them", low, high)
	}
	if whole && (g.From != math.Trunc(g.From) || g.To != math.Trunc(g.To)) {
		problem("%s takes whole numbers only", g.Field)
	}
	for _, v := range []float64{g.From, g.To} {
		if problems == nil {
			if _, err := p.With(g.setting(v)); err != nil {
				problem("%w", err)
			}
		}
	}
	return g, errors.Join(problems...)
}

// kind tells whether the field is a whole number or a rate, from what the profile
// makes of values of both kinds.
func (g Range) kind(p *profiles.Profile) (whole bool, err error) {
	if g.Field == "rate" {
		return false, nil
	}
	for _, try := range []string{"1/s", "1"} {
		changed, err := p.With(g.Field + "=" + try)
		if err != nil && try == "1" && strings.Contains(err.Error(), "unknown field") {
			return false, err
		}
		if err == nil && try == "1/s" && isRate(changed, g.Field) {
			return false, nil
		}
		if err == nil && try == "1" {
			return true, isNumber(changed, g.Field)
		}
	}
	// 1 may be out of range: what FROM and TO are worth is checked by the caller.
	return true, nil
}

// at returns the value of a field in the JSON form of a profile.
func at(p *profiles.Profile, field string) any {
	var node any
	data, err := json.Marshal(p)
	if err != nil || json.Unmarshal(data, &node) != nil {
		return nil
	}
	for _, name := range strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch n := node.(type) {
		case map[string]any:
			node = n[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(n) {
				return nil
			}
			node = n[i]
		default:
			return nil
		}
	}
	return node
}

func isRate(p *profiles.Profile, field string) bool {
	text, ok := at(p, field).(string)
	_, err := rate.Parse(text)
	return ok && err == nil && strings.HasSuffix(text, "/s") && profiles.RoleOf(field) == profiles.RoleLoad
}

func isNumber(p *profiles.Profile, field string) error {
	if _, ok := at(p, field).(float64); !ok {
		return fmt.Errorf("%s is neither a whole number nor a rate: proxies, rate, services and endpoints are short names of fields that are", field)
	}
	return nil
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

// round makes a value one that the field can have, with no more digits than
// tell values apart.
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

// WithSLO returns the profile with limits, each "metric=limit", added to its SLO,
// or with the default one, and byDefault true, if there is none.
func WithSLO(p *profiles.Profile, limits []string) (changed *profiles.Profile, byDefault bool, err error) {
	var settings []string
	var errs []error
	for _, l := range limits {
		if metric, limit, ok := strings.Cut(l, "="); !ok || metric == "" || limit == "" {
			errs = append(errs, fmt.Errorf("--slo %q: want METRIC=LIMIT, such as propagation.all.p99=2s", l))
			continue
		}
		settings = append(settings, "slo."+l)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, false, err
	}
	if len(p.SLO) == 0 && len(limits) == 0 {
		byDefault = true
		for _, metric := range slices.Sorted(maps.Keys(defaultSLO())) {
			settings = append(settings, "slo."+metric+"="+defaultSLO()[metric])
		}
	}
	changed, err = p.With(settings...)
	return changed, byDefault, err
}

// soakProfile is the profile of the soak at the load of base.
func (p *Plan) soakProfile(base *profiles.Profile) *profiles.Profile {
	long := *base
	long.Phases.Steady.Duration = p.Soak.Duration
	return &long
}
