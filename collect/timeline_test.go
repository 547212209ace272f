package collect_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
)

func TestIntervalsHoldEachDeliveryOnce(t *testing.T) {
	r := newRig(t, 130, "c") // three shards
	cut := r.Intervals()
	var total int64
	for second := range 3 {
		state := event.Fingerprint(100 + second)
		r.mutate(state, "c")
		r.pass(time.Duration(second+1) * 10 * time.Millisecond)
		for p := range 130 {
			r.receive(p, "c", state)
		}
		v := cut.Cut()
		total += v.Deliveries
		want := time.Duration(second+1)*10*time.Millisecond + time.Millisecond
		if v.Deliveries != 130 || v.P50 == nil || (duration(*v.P50)-want).Abs() > want/50 {
			t.Errorf("second %d: %d deliveries, p50 %v; want 130 in %s", second, v.Deliveries, v.P50, want)
		}
	}
	if v := cut.Cut(); v.Deliveries != 0 || v.P50 != nil || v.P99 != nil {
		t.Errorf("a second without deliveries: %+v", v)
	}
	if result := r.finish(); result.Propagation.Deliveries != total {
		t.Errorf("%d deliveries, %d of them in intervals", result.Propagation.Deliveries, total)
	}
}

func TestTimesOfWritesAndAnswersAreDistributions(t *testing.T) {
	r := newRig(t, 2, "c")
	m := r.issue(7, "c")
	r.pass(5 * time.Millisecond)
	r.answer(m, nil)
	r.receive(0, "c", 7)
	r.receive(1, "c", 7)
	result := r.finish()
	if w := result.Mutations.WriteTime; w == nil || w.Count != 1 || !near(duration(w.P50), 5*time.Millisecond) {
		t.Errorf("write time %+v, want 5 ms", w)
	}
	if a := result.Acks.AnswerTime; a == nil || a.Count != 2 || (duration(a.P50)-time.Microsecond).Abs() > time.Microsecond {
		t.Errorf("answer time %+v, want 1 µs twice", a)
	}
}

func TestTimelineLeavesCellsEmptyThatItHasNoFigureFor(t *testing.T) {
	dir := t.TempDir()
	cores, rss := 0.25, int64(1000)
	r := &collect.Result{Schema: collect.Schema, TimelineRows: []collect.TimelineRow{
		{T: -0.5, Phase: "warm up", Event: "phase warm up"},
		{T: 0.5, Phase: "steady", Cores: &cores, RSSBytes: &rss},
	}}
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
	cell := func(row int, column string) string {
		for i, name := range rows[0] {
			if name == column {
				return rows[row][i]
			}
		}
		t.Fatalf("no column %q", column)
		return ""
	}
	if cell(1, "t") != "-0.500" || cell(1, "cores") != "" || cell(1, "rss_bytes") != "" || cell(1, "p50") != "" {
		t.Errorf("first line %q", rows[1])
	}
	if cell(2, "cores") != "0.250" || cell(2, "rss_bytes") != "1000" || cell(2, "phase") != "steady" {
		t.Errorf("second line %q", rows[2])
	}
}

func TestSumOfSeriesReadsOneMetricOnly(t *testing.T) {
	const scrape = `# HELP pushes of "pushes" 9
pushes{type="eds"} 3
pushes{type="a } b 7"} 4 1700000000000
pushes_total 100
pushesque 5
pushes 0.5
`
	if sum, ok := collect.SumSeries([]byte(scrape), "pushes"); !ok || sum != 7.5 {
		t.Errorf("sum = %v, %v; want 7.5", sum, ok)
	}
	if _, ok := collect.SumSeries([]byte(scrape), "push"); ok {
		t.Error("a sum of a metric that is not there")
	}
}
