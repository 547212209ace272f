package calibrate

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/rows"
)

// savedV1 has the runs of a calibration by the version that wrote schema v1, with
// what that version printed in report.txt. Of the recorded delays it has every
// hundredth, by rank.
const savedV1 = "testdata/v1"

// table reads a CSV file and calls each with a function that gives a row's number in
// the column of this name, or of the one in v1.
func table(t *testing.T, file string, each func(text func(string) string, number func(now, v1 string) int)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range all[1:] {
		cells := make(map[string]string)
		for i, name := range all[0] {
			cells[name] = row[i]
		}
		each(func(name string) string { return cells[name] }, func(now, v1 string) int {
			n, err := strconv.Atoi(cells[now] + cells[v1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		})
	}
}

func loadOutcome(t *testing.T, name string) *outcome {
	t.Helper()
	dir := filepath.Join(savedV1, name)
	res, err := result.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := &outcome{result: res}
	data, err := os.ReadFile(dir + "-faults.json")
	if err == nil {
		err = json.Unmarshal(data, &o.record)
	}
	if err != nil {
		t.Fatal(err)
	}
	if name != "faults" {
		return o
	}
	table(t, filepath.Join(dir, "mutations.csv"), func(text func(string) string, number func(now, v1 string) int) {
		res.MutationRows = append(res.MutationRows, rows.Mutation{
			Seq: uint64(number("seq", "")), Service: text("service"), Delivered: int64(number("delivered", "")), //nolint:gosec // small
			Coalesced: int64(number("coalesced", "superseded")), Undelivered: int64(number("undelivered", "unreached")),
		})
	})
	table(t, filepath.Join(dir, "proxies.csv"), func(text func(string) string, number func(now, v1 string) int) {
		res.ProxyRows = append(res.ProxyRows, rows.Proxy{
			Name: text("name"), Deliveries: int64(number("deliveries", "")),
			Undelivered: int64(number("undelivered", "unreached")), Diverged: number("diverged", ""),
		})
	})
	return o
}

// figures are the fault, the injected and the measured number of each line.
func figures(lines []Line) []string {
	var all []string
	for _, l := range lines {
		text := func(v float64) string { return fmt.Sprintf("%.0f", v) }
		if l.Unit == "s" {
			text = func(v float64) string { return fmt.Sprintf("%.2f ms", 1000*v) }
		}
		all = append(all, strings.Join([]string{l.Fault, text(l.Injected), text(l.Measured), map[bool]string{true: "pass", false: "FAIL"}[l.Pass]}, "|"))
	}
	return all
}

func TestSavedRunsOfV1GiveTheSameFigures(t *testing.T) {
	t.Parallel()
	printed, err := os.ReadFile(filepath.Join(savedV1, "report.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for l := range strings.Lines(string(printed)) {
		if c := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(l), -1); len(c) == 6 {
			want = append(want, strings.Join([]string{c[0], c[2], c[3], c[5]}, "|"))
		}
	}
	r := &Report{}
	baseline := loadOutcome(t, "baseline")
	list := scenarios(Config{Proxies: 500})
	for i := range list {
		if s := &list[i]; s.check != nil {
			r.add(s.check(s, baseline, loadOutcome(t, s.name))...)
		}
	}
	if got := strings.Join(figures(r.Lines), "\n"); got != strings.Join(want, "\n") || len(want) != 19 {
		t.Errorf("got\n%s\nbefore\n%s", got, strings.Join(want, "\n"))
	}
}
