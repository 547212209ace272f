package collect

import (
	"bufio"
	"bytes"
	"strconv"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// TimelineRow is one line of timeline.csv: a second of the run, or what the
// last one had of it. T is its end, in seconds from the start of the steady
// phase (negative before). Fields that were not to be had are nil.
type TimelineRow struct {
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
func timelineHeader(rows []TimelineRow) []string {
	header := []string{"t", "phase", "mutations", "deliveries", "p50", "p99", "pushes", "bytes_in", "pending", "connected", "ready"}
	if len(rows) > 0 {
		for i := range rows[0].Connections {
			header = append(header, "connected_"+strconv.Itoa(i))
		}
	}
	return append(header, "cores", "rss_bytes", "harness_cores", "event")
}

func (r TimelineRow) fields() []string {
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

// Interval is what came since the Interval before.
type Interval struct {
	Deliveries int64
	// P50 and P99 of their latencies in seconds; nil without deliveries.
	P50, P99 *float64
}

// Intervals cuts the deliveries of a run into intervals. It is for one goroutine.
type Intervals struct {
	c      *Collector
	spare  *hdrhistogram.Histogram
	merged *hdrhistogram.Histogram
}

// Intervals returns a cutter whose first interval begins with the run.
func (c *Collector) Intervals() *Intervals {
	return &Intervals{c: c, spare: newCoarse(), merged: newCoarse()}
}

// Cut ends an interval. Each shard is locked only to swap its histogram for an
// empty one.
func (v *Intervals) Cut() Interval {
	v.merged.Reset()
	for _, s := range v.c.shards {
		s.mu.Lock()
		if s.recent.TotalCount() == 0 {
			s.mu.Unlock()
			continue
		}
		s.recent, v.spare = v.spare, s.recent
		s.mu.Unlock()
		v.merged.Merge(v.spare) // the same range: nothing is dropped
		v.spare.Reset()
	}
	n := v.merged.TotalCount()
	if n == 0 {
		return Interval{}
	}
	q := v.merged.ValueAtPercentilesSlice([]float64{50, 99})
	p50, p99 := float64(q[0])*secondsPerNanosecond, float64(q[1])*secondsPerNanosecond
	return Interval{Deliveries: n, P50: &p50, P99: &p99}
}

// SumSeries adds up all series of a metric in a scrape, without parsing the
// rest of it; false if there is none.
func SumSeries(scrape []byte, name string) (sum float64, ok bool) {
	lines := bufio.NewScanner(bytes.NewReader(scrape))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, found := bytes.CutPrefix(lines.Bytes(), []byte(name))
		if !found || len(rest) == 0 || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		// Label values may hold any byte but an unescaped quote: the value follows
		// the last brace.
		fields := bytes.Fields(rest[bytes.LastIndexByte(rest, '}')+1:])
		if len(fields) == 0 {
			continue
		}
		if x, err := strconv.ParseFloat(string(fields[0]), 64); err == nil {
			sum, ok = sum+x, true
		}
	}
	return sum, ok
}
