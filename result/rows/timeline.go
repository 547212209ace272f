package rows

import "strconv"

// Timeline is one line of timeline.csv: a second of the run, or what the
// last one had of it. T is its end, in seconds from the start of the steady
// phase (negative before). Fields that were not to be had are nil.
type Timeline struct {
	T     float64
	Phase string
	// Mutations issued and pairs delivered within the second.
	Mutations, Deliveries int
	// P50 and P99 are those of the deliveries in seconds, within 1 %.
	P50, P99 *float64
	// Pushes are responses sent by the control plane's count, all types.
	Pushes *float64
	// BytesIn were read from the proxies' connections.
	BytesIn int64
	// Pending pairs, connected and ready proxies at its end.
	Pending, Connected, Ready int
	// Connections are the proxies connected to each replica at its end; nil unless
	// there are several.
	Connections []int
	// Cores that the control plane and the harness used, and the control plane's
	// resident memory at its end.
	Cores, HarnessCores *float64
	RSSBytes            *int64
	Event               string
}

// timelineHeader names the columns of rows with so many replicas.
func timelineHeader(rows []Timeline) []string {
	header := []string{"t", "phase", "mutations", "deliveries", "p50", "p99", "pushes", "bytes_in", "pending", "connected", "ready"}
	if len(rows) > 0 {
		for i := range rows[0].Connections {
			header = append(header, "connected_"+strconv.Itoa(i))
		}
	}
	return append(header, "cores", "rss_bytes", "harness_cores", "event")
}

func (r Timeline) fields() []string {
	rss := ""
	if r.RSSBytes != nil {
		rss = number(*r.RSSBytes)
	}
	cells := []string{
		decimal(&r.T, 3), r.Phase, strconv.Itoa(r.Mutations), strconv.Itoa(r.Deliveries),
		decimal(r.P50, 6), decimal(r.P99, 6), decimal(r.Pushes, 0), number(r.BytesIn),
		strconv.Itoa(r.Pending), strconv.Itoa(r.Connected), strconv.Itoa(r.Ready),
	}
	for _, n := range r.Connections {
		cells = append(cells, strconv.Itoa(n))
	}
	return append(cells, decimal(r.Cores, 3), rss, decimal(r.HarnessCores, 3), r.Event)
}

// decimal writes a figure that may be missing.
func decimal(x *float64, digits int) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'f', digits, 64)
}
