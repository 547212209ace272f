package observe

import "time"

// istiod's defaults, which the embedded control plane has too.
const (
	defaultDebounceAfter = 100 * time.Millisecond
	defaultDebounceMax   = 10 * time.Second
)

// Debounce is how a control plane debounces; the zero value is one that is not
// known to.
type Debounce struct {
	// After is the quiet time that a push waits for, Max the longest wait since
	// the first event.
	After, Max time.Duration
	// Steady is how long mutations were issued.
	Steady time.Duration
	// Replicas is how many of them each mutation was debounced by; 0 means one.
	Replicas int
}

// DebounceOf returns how a control plane debounces that was started with these
// environment variables; defaults says that it has istiod's where they are not set.
func DebounceOf(env map[string]string, defaults bool) (Debounce, error) {
	var d Debounce
	if defaults {
		d.After, d.Max = defaultDebounceAfter, defaultDebounceMax
	}
	for _, knob := range []struct {
		name string
		to   *time.Duration
	}{{"PILOT_DEBOUNCE_AFTER", &d.After}, {"PILOT_DEBOUNCE_MAX", &d.Max}} {
		text, ok := env[knob.name]
		if !ok {
			continue
		}
		value, err := time.ParseDuration(text)
		if err != nil {
			return d, err
		}
		*knob.to = value
	}
	if env["PILOT_ENABLE_EDS_DEBOUNCE"] == "false" {
		d.After = 0 // changes of endpoints are pushed at once
	}
	return d, nil
}
