package target

import (
	"strings"
	"testing"
)

func TestMetricsGetTheNamesThatTheProfileGivesThem(t *testing.T) {
	t.Parallel()
	text := `# HELP clients Streams that are open: clients of all kinds.
# TYPE clients gauge
clients 20
clients_total 30
# TYPE push_seconds histogram
push_seconds_bucket{type="clients",le="0.1"} 4
push_seconds_bucket{type="clients",le="+Inf"} 5
push_seconds_sum{type="clients"} 0.3
push_seconds_count{type="clients"} 5
`
	want := strings.NewReplacer(
		"# HELP clients", "# HELP pilot_xds", "# TYPE clients", "# TYPE pilot_xds", "\nclients ", "\npilot_xds ",
		"push_seconds", "pilot_xds_push_time",
	).Replace(text)
	got := rename([]byte(text), map[string]string{"pilot_xds": "clients", "pilot_xds_push_time": "push_seconds"})
	if string(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if string(rename([]byte(text), nil)) != text {
		t.Error("without names the text changed")
	}
}

func TestMetricNamesMustBeNamesAndOfUse(t *testing.T) {
	t.Parallel()
	s := DefaultSpec()
	s.MetricNames = map[string]string{"pilot_xds": "no name"}
	err := s.Validate()
	if err == nil || !strings.Contains(err.Error(), `target.metricNames.pilot_xds: "no name"`) || !strings.Contains(err.Error(), "exec or external") {
		t.Errorf("error: %v", err)
	}
	s = DefaultSpec()
	s.Kind, s.XDSAddress = KindExternal, "127.0.0.1:15010"
	s.MetricNames = map[string]string{"pilot_xds": "clients"}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}
