package rows_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/rows"
)

func TestTimelineLeavesCellsEmptyThatItHasNoFigureFor(t *testing.T) {
	dir := t.TempDir()
	cores, rss := 0.25, int64(1000)
	r := &result.Result{Schema: result.Schema, TimelineRows: []rows.Timeline{
		{T: -0.5, Phase: "warm up", Event: "phase warm up"},
		{T: 0.5, Phase: "steady", Cores: &cores, RSSBytes: &rss},
	}}
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, rows.TimelineFile))
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

func TestTimelineHasAColumnPerReplica(t *testing.T) {
	dir := t.TempDir()
	r := &result.Result{TimelineRows: []rows.Timeline{{Ready: 30, Connections: []int{10, 20}}}}
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, rows.TimelineFile))
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
