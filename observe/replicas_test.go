package observe_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/observe"
)

func TestMetricsOfReplicasAddUp(t *testing.T) {
	scrapes := func(texts ...string) [][]byte {
		var all [][]byte
		for _, text := range texts {
			all = append(all, []byte(text))
		}
		return all
	}
	services := "# TYPE pilot_services gauge\npilot_services 100\n"
	m, err := observe.GainedByReplicas(scrapes(scrapeBefore+services, scrapeBefore+services), scrapes(scrapeAfter+services, scrapeAfter+services))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct{ got, want float64 }{
		"pushes":       {m.Counters[`pilot_xds_pushes{type="eds"}`], 40},
		"proxies":      {m.Gauges[`pilot_xds{version="1.31"}`], 24},
		"services":     {m.Gauges["pilot_services"], 100},
		"start":        {m.Gauges["process_start_time_seconds"], 100},
		"observations": {float64(m.Histograms["pilot_proxy_convergence_time"].Count), 200},
		"mean":         {m.Histograms["pilot_proxy_convergence_time"].Mean, 0.2},
	} {
		if x.got != x.want {
			t.Errorf("%s = %v, want %v", name, x.got, x.want)
		}
	}
	if m.Restarted {
		t.Error("nothing was restarted")
	}

	again := strings.Replace(scrapeAfter, "process_start_time_seconds 100", "process_start_time_seconds 200", 1)
	m, err = observe.GainedByReplicas(scrapes(scrapeBefore, scrapeBefore), scrapes(scrapeAfter, again))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Counters[`pilot_xds_pushes{type="eds"}`]; !m.Restarted || got != 20+25 {
		t.Errorf("restarted %t, pushes %v: want those of one between, those of the other since its start", m.Restarted, got)
	}
}

func TestReplicaWithoutMetricsLeavesThoseOfTheOthers(t *testing.T) {
	m, err := observe.GainedByReplicas([][]byte{[]byte(scrapeBefore), nil}, [][]byte{[]byte(scrapeAfter), nil})
	if err != nil || m.Restarted || m.Counters[`pilot_xds_pushes{type="eds"}`] != 20 {
		t.Errorf("%+v, %v", m, err)
	}
	missing, err := observe.MissingMetrics(nil, []byte(scrapeAfter))
	if err != nil || slices.Contains(missing, "pilot_xds") || !slices.Contains(missing, "pilot_services") {
		t.Errorf("missing %q, %v", missing, err)
	}
}
