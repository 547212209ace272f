// Package metrics holds the control plane's metrics, named, labelled and
// counted as istiod's.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// Metrics are the metrics of one control plane. Histograms have istiod's
// bucket edges and finer ones below, where this control plane's values are.
type Metrics struct {
	Clients        *prometheus.GaugeVec // by version of the proxy
	Services       prometheus.Gauge
	InboundUpdates *prometheus.CounterVec // by kind of event
	InternalErrors prometheus.Counter
	ExpiredNonces  [xds.TypeCount]prometheus.Counter

	// In seconds.
	DebounceTime    prometheus.Observer
	InitTime        prometheus.Observer // to build a snapshot
	QueueTime       prometheus.Observer
	ConvergenceTime prometheus.Observer

	registry   *prometheus.Registry
	triggers   *prometheus.CounterVec
	pushes     [xds.TypeCount]prometheus.Counter
	rejects    [xds.TypeCount]prometheus.Counter
	rejectedBy [xds.TypeCount]*prometheus.GaugeVec // by node and error
	sendTime   prometheus.Observer
	pushTime   [xds.TypeCount]prometheus.Observer
	configSize [xds.TypeCount]prometheus.Observer
}

// New returns metrics that are all zero.
func New() *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m := &Metrics{registry: registry}
	factory := promauto.With(registry)
	counter := func(name, help string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"type"})
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return factory.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	m.Clients = gauge("pilot_xds", "Number of endpoints connected to this pilot using XDS.", "version")
	m.Services = gauge("pilot_services", "Total services known to pilot.").WithLabelValues()
	m.InboundUpdates = counter("pilot_inbound_updates", "Total number of updates received by pilot.")
	m.InternalErrors = factory.NewCounter(prometheus.CounterOpts{
		Name: "pilot_total_xds_internal_errors", Help: "Total number of internal XDS errors in pilot.",
	})
	m.triggers = counter("pilot_push_triggers", "Total number of times a push was triggered, labeled by reason for the push.")
	pushes := counter("pilot_xds_pushes", "Pushes of lds, rds, cds and eds.")
	expired := counter("pilot_xds_expired_nonce", "Total number of XDS requests with an expired nonce.")
	rejects := counter("pilot_total_xds_rejects", "Total number of XDS responses from pilot rejected by proxy.")
	for t := range xds.TypeCount {
		m.pushes[t] = pushes.WithLabelValues(t.String())
		m.ExpiredNonces[t] = expired.WithLabelValues(t.String())
		m.rejects[t] = rejects.WithLabelValues(t.String())
		m.rejectedBy[t] = gauge("pilot_xds_"+t.String()+"_reject", "Pilot rejected "+t.String()+" configs.", "node", "err")
	}
	m.addHistograms(factory)
	return m
}

func (m *Metrics) addHistograms(factory promauto.Factory) {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return factory.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	short := []float64{.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3, 5, 10, 20, 30}
	long := []float64{.001, .003, .01, .03, .1, .2, .3, .5, 1, 3, 5, 10, 20, 30}
	debounce := []float64{.001, .003, .01, .03, .1, .105, .11, .12, .15, .2, .3, .5, 1, 3, 5, 10, 20, 30}
	build := []float64{.0003, .001, .003, .01, .03, .1, .5, 1, 3, 5}
	sizes := []float64{1, 1e3, 1e4, 1e5, 1e6, 4e6, 1e7, 4e7}
	m.DebounceTime = histogram("pilot_debounce_time",
		"Delay in seconds between the first config enters debouncing and the merged push request is pushed into the "+
			"push queue (includes pushcontext_init_seconds).", debounce).WithLabelValues()
	m.InitTime = histogram("pilot_pushcontext_init_seconds",
		"Total time in seconds Pilot takes to init pushContext.", build).WithLabelValues()
	m.QueueTime = histogram("pilot_proxy_queue_time",
		"Time in seconds, a proxy is in the push queue before being dequeued.", long).WithLabelValues()
	m.ConvergenceTime = histogram("pilot_proxy_convergence_time",
		"Delay in seconds between config change and a proxy receiving all required configuration.",
		long).WithLabelValues()
	m.sendTime = histogram("pilot_xds_send_time",
		"Total time in seconds Pilot takes to send generated configuration.", short).WithLabelValues()
	pushTime := histogram("pilot_xds_push_time",
		"Total time in seconds Pilot takes to push lds, rds, cds and eds.", short, "type")
	configSize := histogram("pilot_xds_config_size_bytes",
		"Distribution of configuration sizes pushed to clients.", sizes, "type")
	for t := range xds.TypeCount {
		m.pushTime[t] = pushTime.WithLabelValues(t.String())
		m.configSize[t] = configSize.WithLabelValues(t.URL())
	}
}

// Sent counts a response that was built and sent in these times.
func (m *Metrics) Sent(t xds.Type, bytes int, build, send time.Duration) {
	m.pushTime[t].Observe((build + send).Seconds())
	m.pushes[t].Inc()
	m.sendTime.Observe(send.Seconds())
	m.configSize[t].Observe(float64(bytes))
}

// Rejected counts a NACK.
func (m *Metrics) Rejected(t xds.Type, node, code string) {
	m.rejects[t].Inc()
	m.rejectedBy[t].WithLabelValues(node, code).Inc()
}

// Triggered counts the reasons of a push to one proxy.
func (m *Metrics) Triggered(reasons map[string]int) {
	for reason, n := range reasons {
		m.triggers.WithLabelValues(reason).Add(float64(n))
	}
}

// Handler serves the metrics in Prometheus's text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}
