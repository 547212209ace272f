package compare_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/xdsbench/xdsbench/experiment/compare"
	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/result"
)

func TestTextFitsATerminalAndSaysWhatMatters(t *testing.T) {
	o := options()
	r := compared(t, set(t, 1, 5), set(t, 2, 5, slower(5), func(r *result.Result, _ int) {
		r.Profile = bytes.Replace(r.Profile, []byte(`{"name":"test"`), []byte(`{"name":"test","description":"`+strings.Repeat("long ", 40)+`","target":{"env":{"GOGC":"50"}}`), 1)
	}), o)
	var b strings.Builder
	if err := r.Document().Text(&b, doc.TextOptions{Width: 110}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 110 && !strings.HasPrefix(line, "Old") && !strings.HasPrefix(line, "New") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{
		`(?m)^REGRESSION  2 metrics are worse$`,
		`(?m)^ +•  propagation\.all\.p99 +\d+ ms ± \d.* %  +1\.\d+ s ± \d.* % +\+\d\d\d %  0\.008  WORSE$`,
		`(?m)^0 in all runs\n  Correctness +propagation\.undelivered`,
		`(?m)^ +volume\.byType\.eds\.bytes +.* MB`,
		`(?m)^Profile +target\.env\.GOGC: absent -> 50$`,
		`(?m)^Environment +the same$`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
}

func TestMarkdownTablesHaveOneCellPerColumn(t *testing.T) {
	r := compared(t, set(t, 1, 5), set(t, 2, 5, func(r *result.Result, _ int) {
		r.ControlPlane.Signals.Errors = map[string]float64{"a|b": 1}
	}), compare.Options{All: true, Alpha: 0.05, Threshold: 0.05})
	var b strings.Builder
	if err := r.Document().Markdown(&b); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "|") {
			rows++
			if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 8 {
				t.Errorf("%d borders: %s", n, line)
			}
		}
	}
	if rows < 40 || !strings.HasPrefix(b.String(), "**OK** no regression") {
		t.Errorf("%d rows:\n%s", rows, b.String())
	}
}

func TestImpossibleOptionsAreAllNamed(t *testing.T) {
	var o compare.Options
	err := o.ParseThresholds([]string{"5", "x%", "=5%", "-1%", "propagation.all.p99=nan%", "nonsense=5%"})
	if err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("thresholds: %v", err)
	}
	o.Alpha, o.Metrics = 1, []string{"all.p99", "errors", "volume.byType.*.bytes"}
	err = o.Validate()
	for _, want := range []string{"--alpha 1", `--metric: "all.p99"`, `--threshold: "nonsense"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if err != nil && strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("more than three problems: %v", err)
	}
}
