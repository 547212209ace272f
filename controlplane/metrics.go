package controlplane

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are named, labelled and counted as istiod's. Histograms have
// istiod's bucket edges and finer ones below, where this control plane lives.
type metrics struct {
	registry *prometheus.Registry

	clients        *prometheus.GaugeVec // by version of the proxy
	services       prometheus.Gauge
	inboundUpdates *prometheus.CounterVec
	triggers       *prometheus.CounterVec
	pushes         [typeCount]prometheus.Counter
	internalErrors prometheus.Counter
	expiredNonces  [typeCount]prometheus.Counter

	totalRejects [typeCount]prometheus.Counter
	rejects      [typeCount]*prometheus.GaugeVec // by node and error

	debounceTime prometheus.Observer
	initTime     prometheus.Observer
	queueTime    prometheus.Observer
	convergence  prometheus.Observer
	sendTime     prometheus.Observer
	pushTime     [typeCount]prometheus.Observer
	configSize   [typeCount]prometheus.Observer
}

func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.clients = m.gauge("pilot_xds", "Number of endpoints connected to this pilot using XDS.", "version")
	m.services = m.gauge("pilot_services", "Total services known to pilot.").WithLabelValues()
	m.inboundUpdates = m.counter("pilot_inbound_updates", "Total number of updates received by pilot.", "type")
	m.triggers = m.counter("pilot_push_triggers",
		"Total number of times a push was triggered, labeled by reason for the push.", "type")
	m.internalErrors = m.counter("pilot_total_xds_internal_errors",
		"Total number of internal XDS errors in pilot.").WithLabelValues()
	pushes := m.counter("pilot_xds_pushes", "Pushes of lds, rds, cds and eds.", "type")
	expired := m.counter("pilot_xds_expired_nonce", "Total number of XDS requests with an expired nonce.", "type")
	rejects := m.counter("pilot_total_xds_rejects",
		"Total number of XDS responses from pilot rejected by proxy.", "type")
	for t := range typeCount {
		m.pushes[t] = pushes.WithLabelValues(t.label())
		m.expiredNonces[t] = expired.WithLabelValues(t.label())
		m.totalRejects[t] = rejects.WithLabelValues(t.label())
		m.rejects[t] = m.gauge("pilot_xds_"+t.label()+"_reject",
			"Pilot rejected "+t.label()+" configs.", "node", "err")
	}
	m.addHistograms()
	return m
}

func (m *metrics) addHistograms() {
	short := []float64{.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3, 5, 10, 20, 30}
	long := []float64{.001, .003, .01, .03, .1, .2, .3, .5, 1, 3, 5, 10, 20, 30}
	debounce := []float64{.001, .003, .01, .03, .1, .105, .11, .12, .15, .2, .3, .5, 1, 3, 5, 10, 20, 30}
	sizes := []float64{1, 1e3, 1e4, 1e5, 1e6, 4e6, 1e7, 4e7}
	m.debounceTime = m.histogram("pilot_debounce_time",
		"Delay in seconds between the first config enters debouncing and the merged push request is pushed into the "+
			"push queue (includes pushcontext_init_seconds).", debounce).WithLabelValues()
	m.initTime = m.histogram("pilot_pushcontext_init_seconds",
		"Total time in seconds Pilot takes to init pushContext.", []float64{.0003, .001, .003, .01, .03, .1, .5, 1, 3, 5}).WithLabelValues()
	m.queueTime = m.histogram("pilot_proxy_queue_time",
		"Time in seconds, a proxy is in the push queue before being dequeued.", long).WithLabelValues()
	m.convergence = m.histogram("pilot_proxy_convergence_time",
		"Delay in seconds between config change and a proxy receiving all required configuration.",
		long).WithLabelValues()
	m.sendTime = m.histogram("pilot_xds_send_time",
		"Total time in seconds Pilot takes to send generated configuration.", short).WithLabelValues()
	pushTime := m.histogram("pilot_xds_push_time",
		"Total time in seconds Pilot takes to push lds, rds, cds and eds.", short, "type")
	configSize := m.histogram("pilot_xds_config_size_bytes",
		"Distribution of configuration sizes pushed to clients.", sizes, "type")
	for t := range typeCount {
		m.pushTime[t] = pushTime.WithLabelValues(t.label())
		m.configSize[t] = configSize.WithLabelValues(t.url())
	}
}

func (m *metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(v)
	return v
}

// sent records one response that left: built and sent in these times.
func (m *metrics) sent(t xdsType, bytes int, build, send time.Duration) {
	m.pushTime[t].Observe((build + send).Seconds())
	m.pushes[t].Inc()
	m.sendTime.Observe(send.Seconds())
	m.configSize[t].Observe(float64(bytes))
}

// rejected records a NACK.
func (m *metrics) rejected(t xdsType, node, code string) {
	m.totalRejects[t].Inc()
	m.rejects[t].WithLabelValues(node, code).Inc()
}

// triggered records the reasons of a push to one proxy.
func (m *metrics) triggered(reasons map[string]int) {
	for reason, n := range reasons {
		m.triggers.WithLabelValues(reason).Add(float64(n))
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}
