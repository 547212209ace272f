package observe

import (
	"bytes"
	"fmt"
	"math"
	"sort"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/xdsbench/xdsbench/result/observed"
)

// Gained compares two scrapes in the Prometheus text format.
func Gained(before, after []byte) (*observed.Metrics, error) {
	return GainedByReplicas([][]byte{before}, [][]byte{after})
}

// Scrape is what a control plane's page of metrics says, by the metrics' names.
type Scrape map[string]*dto.MetricFamily

// Parse reads the Prometheus text format.
func Parse(text []byte) (Scrape, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(text))
}

// Sum adds up the series of a counter or gauge; false if there are none.
func (s Scrape) Sum(name string) (sum float64, ok bool) {
	for _, m := range s[name].GetMetric() {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
		ok = true
	}
	return sum, ok
}

// Usage is the processor time in seconds and the resident memory in bytes of the
// process that was scraped; false if it does not tell both.
func (s Scrape) Usage() (cpu, rss float64, ok bool) {
	cpu, hasCPU := s.Sum("process_cpu_seconds_total")
	rss, hasRSS := s.Sum("process_resident_memory_bytes")
	return cpu, rss, hasCPU && hasRSS
}

// Pushes is how many responses were sent since the start, of all types; false if
// they are not counted. Those that failed are left out.
func (s Scrape) Pushes() (sum float64, ok bool) {
	for _, m := range s[pushes].GetMetric() {
		if !failed(seriesName(pushes, m)) {
			sum += m.GetCounter().GetValue()
		}
		ok = true
	}
	return sum, ok
}

// addFamily adds what a family of metrics gained.
func addFamily(m *observed.Metrics, name string, now, old *dto.MetricFamily) {
	switch now.GetType() {
	case dto.MetricType_GAUGE:
		if !keepGauge(name) {
			return
		}
		for _, x := range now.GetMetric() {
			addGauge(m, name, seriesName(name, x), x.GetGauge().GetValue())
		}
	case dto.MetricType_COUNTER:
		moved := make(map[string]float64)
		for _, x := range now.GetMetric() {
			moved[seriesName(name, x)] += x.GetCounter().GetValue()
		}
		for _, x := range old.GetMetric() {
			moved[seriesName(name, x)] -= x.GetCounter().GetValue()
		}
		for series, by := range moved {
			if by != 0 {
				m.Counters[series] = by
			}
		}
	case dto.MetricType_HISTOGRAM:
		if q := quantiles(sumHistograms(now).minus(sumHistograms(old))); q != nil {
			m.Histograms[name] = q
		}
	case dto.MetricType_SUMMARY, dto.MetricType_UNTYPED, dto.MetricType_GAUGE_HISTOGRAM:
		// Quantiles of summaries cannot be subtracted; the others are not used.
	}
}

// keepGauge leaves out the dozens of gauges of the Go runtime.
func keepGauge(name string) bool {
	return !strings.HasPrefix(name, "go_") || name == "go_goroutines" || name == "go_memstats_heap_inuse_bytes"
}

func seriesName(name string, m *dto.Metric) string {
	if len(m.GetLabel()) == 0 {
		return name
	}
	labels := make([]string, 0, len(m.GetLabel()))
	for _, l := range m.GetLabel() {
		labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	sort.Strings(labels)
	return name + "{" + strings.Join(labels, ",") + "}"
}

// buckets is a Prometheus histogram: cumulative counts by upper edge.
type buckets struct {
	count, sum float64
	byEdge     map[float64]float64
}

func sumHistograms(f *dto.MetricFamily) buckets {
	b := buckets{byEdge: make(map[float64]float64)}
	for _, m := range f.GetMetric() {
		h := m.GetHistogram()
		b.count += float64(h.GetSampleCount())
		b.sum += h.GetSampleSum()
		for _, x := range h.GetBucket() {
			b.byEdge[x.GetUpperBound()] += float64(x.GetCumulativeCount())
		}
	}
	return b
}

func (b buckets) minus(o buckets) buckets {
	d := buckets{count: b.count - o.count, sum: b.sum - o.sum, byEdge: make(map[float64]float64)}
	for edge, n := range b.byEdge {
		d.byEdge[edge] = n - o.byEdge[edge]
	}
	return d
}

// quantiles returns nil for a histogram without observations.
func quantiles(b buckets) *observed.Quantiles {
	if b.count <= 0 {
		return nil
	}
	q := &observed.Quantiles{Count: int64(b.count), Mean: b.sum / b.count}
	q.P50, q.P50Bucket = b.quantile(0.5)
	q.P90, _ = b.quantile(0.9)
	q.P99, q.P99Bucket = b.quantile(0.99)
	return q
}

// quantile interpolates within the bucket that holds the rank, and returns both. Above
// the last finite edge it returns that edge.
func (b buckets) quantile(q float64) (float64, *observed.Bucket) {
	edges := b.edges()
	rank, low, below := q*b.count, 0.0, 0.0
	for _, edge := range edges {
		n := b.byEdge[edge]
		if n >= rank && n > below {
			return low + (edge-low)*(rank-below)/(n-below), &observed.Bucket{Low: low, High: &edge}
		}
		low, below = edge, n
	}
	return low, &observed.Bucket{Low: low}
}

// edges returns the finite upper edges in order.
func (b buckets) edges() []float64 {
	edges := make([]float64, 0, len(b.byEdge))
	for edge := range b.byEdge {
		if !math.IsInf(edge, 1) {
			edges = append(edges, edge)
		}
	}
	sort.Float64s(edges)
	return edges
}
