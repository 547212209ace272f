package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/xdsbench/xdsbench/result"
)

// Options say how to write text.
type Options struct {
	// Color marks the verdict with ANSI colours.
	Color bool
	// Dir is where the result is saved; it is named at the end.
	Dir string
}

// labelWidth is the width of the column of labels.
const labelWidth = 15

// Text writes a summary for a terminal.
func Text(w io.Writer, r *result.Result, o Options) error {
	d, err := describe(r)
	if err != nil {
		return err
	}
	t := &textWriter{color: o.Color}
	t.line(t.paint(string(d.verdict), d.verdict.good()), "  ", d.headline)
	t.line()
	t.body(d)
	if o.Dir != "" {
		t.line()
		t.labelled("Files", o.Dir)
	}
	_, err = w.Write(t.out.Bytes())
	return err
}

type textWriter struct {
	out   bytes.Buffer
	color bool
}

// body writes all but the headline.
func (t *textWriter) body(d *document) {
	for _, f := range d.facts {
		t.labelled(f.label, f.text)
	}
	for _, table := range d.tables {
		t.line()
		t.table(table)
	}
	t.slo(d.slo)
	if len(d.notes) > 0 {
		t.line()
	}
	for _, n := range d.notes {
		t.labelled(n.label, n.text)
	}
}

// line writes its parts without blanks at the end.
func (t *textWriter) line(parts ...string) {
	t.out.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	t.out.WriteByte('\n')
}

func (t *textWriter) labelled(label, text string) {
	t.line(pad(label, labelWidth), text)
}

func (t *textWriter) paint(text string, good bool) string {
	if !t.color {
		return text
	}
	code := 31 // red
	if good {
		code = 32 // green
	}
	return fmt.Sprintf("\x1b[1;%dm%s\x1b[0m", code, text)
}

func (t *textWriter) slo(lines []sloLine) {
	if len(lines) == 0 {
		return
	}
	t.line()
	width := 0
	for _, s := range lines {
		width = max(width, utf8.RuneCountInString(s.metric))
	}
	label := "SLO"
	for _, s := range lines {
		word := "missed"
		if s.pass {
			word = "kept"
		}
		t.line(pad(label, labelWidth), t.paint(pad(word, len("missed")), s.pass), "  ", pad(s.metric, width), "  ", s.value, " (limit ", s.limit, ")")
		label = ""
	}
}

// table writes the first column to the left and numbers to the right.
func (t *textWriter) table(x table) {
	rows := append([][]string{x.head}, x.rows...)
	widths := make([]int, len(x.head))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	label := x.title
	for _, row := range rows {
		parts := []string{pad(label, labelWidth), pad(row[0], widths[0])}
		for i, cell := range row[1:] {
			parts = append(parts, "  ", strings.Repeat(" ", widths[i+1]-utf8.RuneCountInString(cell)), cell)
		}
		t.line(parts...)
		label = ""
	}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
}
