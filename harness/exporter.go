package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/xdsbench/xdsbench/internal/listen"
)

// exporter serves the run's own figures to Prometheus while it lasts. The names
// have the prefix xdsbench_ and no label that grows with the fleet.
type exporter struct {
	run     *run
	metrics map[string]*prometheus.Desc
}

var _ prometheus.Collector = (*exporter)(nil)

// exported are the metrics with their help, by name without the prefix.
func exported() map[string]struct{ help, label string } {
	return map[string]struct{ help, label string }{
		"phase":                     {"The phase of the run: 1 for the present one.", "phase"},
		"proxies":                   {"Fake proxies by state: requested, connected, ready.", "state"},
		"connections_refused_total": {"Connection attempts that failed.", ""},
		"responses_total":           {"Discovery responses received, of all types.", ""},
		"mutations_scheduled":       {"Mutations that the schedule has.", ""},
		"mutations_issued_total":    {"Mutations issued.", ""},
		"deliveries_total":          {"Pairs of a mutation and a proxy that have arrived.", ""},
		"pairs_pending":             {"Pairs that are still expected.", ""},
		"wire_bytes_total":          {"Bytes read from (in) and written to (out) the proxies' connections.", "direction"},
		"propagation_seconds":       {"Quantiles of the latency from scheduled to received, of the deliveries of the last second that had any.", "quantile"},
	}
}

// serveMetrics serves /metrics at the address until the returned function is
// called. An empty address serves nothing.
func (r *run) serveMetrics(ctx context.Context, address string) (stop func() error, err error) {
	if address == "" {
		return func() error { return nil }, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, invalid(fmt.Errorf("--metrics-address: %w: choose another", err))
	}
	e := &exporter{run: r, metrics: map[string]*prometheus.Desc{}}
	for name, m := range exported() {
		var labels []string
		if m.label != "" {
			labels = []string{m.label}
		}
		e.metrics[name] = prometheus.NewDesc("xdsbench_"+name, m.help, labels, nil)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(e, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	var handler http.Handler = mux
	if at, ok := l.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		handler = listen.GuardHost(mux)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	return func() error {
		err := server.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}

// Describe is for Prometheus.
func (e *exporter) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range e.metrics {
		ch <- d
	}
}

// Collect is for Prometheus.
func (e *exporter) Collect(ch chan<- prometheus.Metric) {
	send := func(name string, kind prometheus.ValueType, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(e.metrics[name], kind, value, labels...)
	}
	s := e.run.status()
	send("phase", prometheus.GaugeValue, 1, string(s.Phase))
	send("proxies", prometheus.GaugeValue, float64(s.Want), "requested")
	send("proxies", prometheus.GaugeValue, float64(s.Connected), "connected")
	send("proxies", prometheus.GaugeValue, float64(s.Ready), "ready")
	send("connections_refused_total", prometheus.CounterValue, float64(s.Refused))
	send("responses_total", prometheus.CounterValue, float64(s.Responses))
	send("mutations_scheduled", prometheus.GaugeValue, float64(s.Scheduled))
	send("mutations_issued_total", prometheus.CounterValue, float64(s.Issued))
	send("deliveries_total", prometheus.CounterValue, float64(s.Deliveries))
	send("pairs_pending", prometheus.GaugeValue, float64(s.Pending))
	if l := e.run.progress.Load(); l != nil {
		in, out := l.fleet.WireBytes()
		send("wire_bytes_total", prometheus.CounterValue, float64(in), "in")
		send("wire_bytes_total", prometheus.CounterValue, float64(out), "out")
	}
	if i := e.run.lastSecond.Load(); i != nil {
		send("propagation_seconds", prometheus.GaugeValue, *i.P50, "0.5")
		send("propagation_seconds", prometheus.GaugeValue, *i.P99, "0.99")
	}
}
