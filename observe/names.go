package observe

import "strings"

// Metrics that more than one place here reads, under istiod's names.
const (
	connections = "pilot_xds"
	pushes      = "pilot_xds_pushes"
	rejects     = "pilot_total_xds_rejects"
)

// total sums the series of a metric; false if there are none.
func total(series map[string]float64, name string) (sum float64, ok bool) {
	for key, value := range series {
		if family, _, _ := strings.Cut(key, "{"); family == name {
			sum, ok = sum+value, true
		}
	}
	return sum, ok
}

// failed reports whether a series counts pushes that failed, such as
// pilot_xds_pushes{type="cds_senderr"}.
func failed(series string) bool { return strings.HasSuffix(series, `err"}`) }
