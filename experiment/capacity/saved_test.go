package capacity_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/experiment/capacity"
)

// savedV1 is the folder of a search by the version that wrote schema v1; what that
// version printed is in its report.txt.
const savedV1 = "testdata/v1"

// numbers are those of a line, but for those of which fewer digits are written now:
// errors in percent, and how long a run took, which is last in its row.
func numbers(line string) string {
	line, _, _ = strings.Cut(line, "largest error")
	all := regexp.MustCompile(`\d+(\.\d+)?`).FindAllString(line, -1)
	if strings.Contains(line, "grow") {
		all = all[:len(all)-1]
	}
	return strings.Join(all, " ")
}

// line returns the first line of a text that holds all parts.
func line(t *testing.T, text string, parts ...string) string {
	t.Helper()
	for l := range strings.Lines(text) {
		found := true
		for _, p := range parts {
			found = found && strings.Contains(l, p)
		}
		if found {
			return l
		}
	}
	t.Errorf("no line with %q in:\n%s", parts, text)
	return ""
}

func TestSavedSearchOfV1GivesTheSameAnswerAndNumbers(t *testing.T) {
	t.Parallel()
	before, err := os.ReadFile(filepath.Join(savedV1, "report.txt"))
	if err != nil {
		t.Fatal(err)
	}
	saved, err := capacity.Load(savedV1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := capacity.FromRuns("", capacity.Options{From: []string{savedV1}})
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*capacity.Report{"report": saved, "runs": again} {
		got := text(t, r)
		for _, parts := range [][]string{
			{"at least proxies.count=40"}, // the answer
			{"291 pushes/s"},
			{"grow", " 10 "},
			{"grow", " 20 "},
			{"grow", " 40 ", "209 ms"},
			{"CPU", "idle"},
			{"memory", "per proxy"},
			{"connect CPU", "per proxy"},
			{"latency p99", "per proxy"},
		} {
			old, now := numbers(line(t, string(before), parts...)), numbers(line(t, got, parts...))
			if old != now {
				t.Errorf("%s: %q: got %s, before %s", name, parts, now, old)
			}
		}
		if !strings.Contains(got, "propagation.undelivered <= 0") {
			t.Errorf("%s: the SLO has another name:\n%s", name, got)
		}
	}
}

func TestSearchOfV1IsContinuedWithItsRuns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	if err := os.CopyFS(dir, os.DirFS(savedV1)); err != nil {
		t.Fatal(err)
	}
	saved, err := capacity.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{Limit: 1e6, Load: byProxies}
	r, err := capacity.Search(t.Context(), capacity.Config{Dir: dir, Plan: saved.Plan, Run: f.run})
	if err != nil {
		t.Fatal(err)
	}
	if f.runs > 0 || r.Answer.Kind != saved.Answer.Kind || r.Answer.Value != saved.Answer.Value {
		t.Errorf("%d runs made again, answer %+v", f.runs, r.Answer)
	}
}
