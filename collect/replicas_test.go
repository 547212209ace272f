package collect_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/collect"
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
	m, err := collect.MetricsOfReplicas(scrapes(scrapeBefore+services, scrapeBefore+services), scrapes(scrapeAfter+services, scrapeAfter+services))
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
	m, err = collect.MetricsOfReplicas(scrapes(scrapeBefore, scrapeBefore), scrapes(scrapeAfter, again))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Counters[`pilot_xds_pushes{type="eds"}`]; !m.Restarted || got != 20+25 {
		t.Errorf("restarted %t, pushes %v: want those of one between, those of the other since its start", m.Restarted, got)
	}
}

func TestReplicaWithoutMetricsLeavesThoseOfTheOthers(t *testing.T) {
	m, err := collect.MetricsOfReplicas([][]byte{[]byte(scrapeBefore), nil}, [][]byte{[]byte(scrapeAfter), nil})
	if err != nil || m.Restarted || m.Counters[`pilot_xds_pushes{type="eds"}`] != 20 {
		t.Errorf("%+v, %v", m, err)
	}
	missing, err := collect.MissingMetrics(nil, []byte(scrapeAfter))
	if err != nil || slices.Contains(missing, "pilot_xds") || !slices.Contains(missing, "pilot_services") {
		t.Errorf("missing %q, %v", missing, err)
	}
}

func TestTimelineHasAColumnPerReplica(t *testing.T) {
	dir := t.TempDir()
	r := &collect.Result{TimelineRows: []collect.TimelineRow{{Ready: 30, Connections: []int{10, 20}}}}
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, collect.TimelineFile))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.Index(rows[0], "connected_0")
	if i < 0 || rows[0][i+1] != "connected_1" || rows[1][i] != "10" || rows[1][i+1] != "20" || rows[0][i+2] != "cores" {
		t.Errorf("timeline %q", rows)
	}
}

func TestImbalanceIsTheMostOverTheMean(t *testing.T) {
	for _, test := range []struct {
		connections []int
		want        float64
	}{{[]int{50, 50}, 1}, {[]int{300, 0}, 2}, {[]int{0, 0}, 0}} {
		var c collect.ControlPlane
		for _, n := range test.connections {
			c.Replicas = append(c.Replicas, collect.Replica{ConnectionsAtEnd: n})
		}
		c.AddImbalance()
		if got := c.ConnectionImbalance; test.want == 0 && got != nil || test.want > 0 && (got == nil || *got != test.want) {
			t.Errorf("%v: %v, want %v", test.connections, got, test.want)
		}
	}
}
