package compare

// schema names the layout of a comparison in JSON.
const schema = "xdsbench/compare/v1"

// Conclusion is what a comparison comes down to.
type Conclusion string

// The conclusions.
const (
	// Regressed: at least one deciding metric got worse.
	Regressed Conclusion = "regression"
	// notRegressed: no deciding metric was found to have got worse.
	notRegressed Conclusion = "no regression found"
	// undecided: there are too few runs for any deciding metric to tell.
	undecided Conclusion = "too few runs to tell"
)

// Verdict is what happened to one metric.
type Verdict string

// The verdicts.
const (
	better  Verdict = "better"
	worse   Verdict = "worse"
	changed Verdict = "changed" // of a metric that has no better direction
	similar Verdict = "~"       // no significant change
	equal   Verdict = "="       // the same value in all runs
	tooFew  Verdict = "too few" // no p-value of so few runs can be significant
	absent  Verdict = "absent"  // in one set
)

// Report is a comparison of two sets of runs.
type Report struct {
	Schema     string     `json:"schema"`
	Conclusion Conclusion `json:"conclusion"`
	Old        SetInfo    `json:"old"`
	New        SetInfo    `json:"new"`
	Alpha      float64    `json:"alpha"`
	Threshold  float64    `json:"threshold"`
	// Deciding is how many metrics the p-values of deciding ones are corrected
	// for; RunsNeeded how many runs a set has to have for one of them to be found.
	Deciding    int          `json:"deciding"`
	RunsNeeded  int          `json:"runsNeeded"`
	Regressions []Regression `json:"regressions"`
	Metrics     []Metric     `json:"metrics"`
	// Environment and Profile list the fields in which the sets differ.
	Environment []Difference `json:"environment,omitempty"`
	Profile     []Difference `json:"profile,omitempty"`
	Warnings    []string     `json:"warnings,omitempty"`
}

// SetInfo says what a set is made of.
type SetInfo struct {
	Path string `json:"path"`
	// Runs are the results' files, and Verdicts those of the results.
	Runs     []string `json:"runs"`
	Verdicts []string `json:"verdicts"`
}

// Regression is a deciding metric that got worse.
type Regression struct {
	Metric string `json:"metric"`
	Reason string `json:"reason"`
}

// Metric is the comparison of one metric.
type Metric struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	Unit  string `json:"unit,omitempty"`
	// Better is "lower", "higher" or empty.
	Better string `json:"better,omitempty"`
	// Deciding metrics can be a regression.
	Deciding bool `json:"deciding"`
	// MustBeZero metrics count defects.
	MustBeZero bool `json:"mustBeZero,omitempty"`
	// Threshold is that of the metric, relative to the old median.
	Threshold float64 `json:"threshold"`
	Old       *Side   `json:"old,omitempty"`
	New       *Side   `json:"new,omitempty"`
	// Change is relative to the old median; absent if that is zero.
	Change *float64 `json:"change,omitempty"`
	// P is of the Mann-Whitney U test, Corrected for the number of metrics. Both
	// are absent if one set has no value or all values are equal.
	P         *float64 `json:"p,omitempty"`
	Corrected *float64 `json:"corrected,omitempty"`
	Verdict   Verdict  `json:"verdict"`
	// Significant: a change that stays significant after the correction. A
	// verdict without it is a hint.
	Significant bool   `json:"significant"`
	Regression  bool   `json:"regression"`
	Note        string `json:"note,omitempty"`

	place   int  // in the table
	counted bool // among the deciding metrics whose p-values are corrected together
}

// Difference is a field that the sets do not have in common, with each set's
// values; a set in which a run lacks it has "absent" among them.
type Difference struct {
	Field string   `json:"field"`
	Old   []string `json:"old"`
	New   []string `json:"new"`
}
