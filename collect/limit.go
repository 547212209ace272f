package collect

// ParseLimit reads a limit of an SLO on this metric, in the metric's unit: seconds,
// bytes or none. lower is true if it bounds from below.
func ParseLimit(metric, text string) (bound float64, lower bool, err error) {
	m, err := lookUp(metric)
	if err != nil {
		return 0, false, err
	}
	l, err := parseLimit(text, m.unit)
	return l.bound, l.lower, err
}
