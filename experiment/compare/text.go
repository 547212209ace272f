package compare

import (
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// textWidth is that of the terminal that lines are broken for.
	textWidth = 118
	// labelWidth is the width of the column of labels.
	labelWidth = 13
)

// Text writes the comparison for a terminal.
func (r *Report) Text(w io.Writer) error {
	t := &textWriter{}
	t.line(r.headline())
	for _, x := range r.Regressions {
		t.wrapped("", x.Metric+": "+x.Reason)
	}
	t.line("")
	t.wrapped("Old", r.Old.Path+"  ("+plural(len(r.Old.Runs), "run", "runs")+")")
	t.wrapped("New", r.New.Path+"  ("+plural(len(r.New.Runs), "run", "runs")+")")
	t.differences("Profile", r.Profile)
	t.differences("Environment", r.Environment)
	t.line("")
	t.table(r.sections())
	t.line("")
	for _, line := range r.legend() {
		t.wrapped("", line)
	}
	if len(r.Warnings) > 0 {
		t.line("")
	}
	for _, warning := range r.Warnings {
		t.wrapped("Warning", warning)
	}
	_, err := io.WriteString(w, t.out.String())
	return err
}

type textWriter struct{ out strings.Builder }

func (t *textWriter) line(text string) {
	t.out.WriteString(strings.TrimRight(text, " "))
	t.out.WriteByte('\n')
}

// wrapped writes a text after its label, broken at blanks. The words of later
// lines stand below those of the first.
func (t *textWriter) wrapped(label, text string) {
	line := pad(label, labelWidth)
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > textWidth:
			t.line(line)
			line = strings.Repeat(" ", labelWidth) + word
		default:
			line += " " + word
		}
	}
	t.line(line)
}

func (t *textWriter) differences(label string, all []Difference) {
	if len(all) == 0 {
		t.wrapped(label, "the same")
	}
	for i := range all {
		t.wrapped(label, all[i].line())
		label = ""
	}
}

func (t *textWriter) table(sections []section) {
	widths := make([]int, len(tableHead()))
	measure := func(cells []string) {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	measure(tableHead())
	for _, s := range sections {
		for _, row := range s.rows {
			measure(row.cells)
		}
	}
	t.cells("  ", tableHead(), widths, "")
	for _, s := range sections {
		t.line(s.title)
		for _, row := range s.rows {
			mark := "  "
			if row.deciding {
				mark = "• "
			}
			t.cells(mark, row.cells, widths, row.note)
		}
		if len(s.zeros) > 0 {
			t.wrapped("  0 in all", strings.Join(s.zeros, ", "))
		}
	}
}

// cells writes the name and the verdict to the left, and numbers to the right.
func (t *textWriter) cells(mark string, cells []string, widths []int, note string) {
	last := len(cells) - 1
	parts := []string{mark + pad(cells[0], widths[0])}
	for i, cell := range cells[1:last] {
		parts = append(parts, strings.Repeat(" ", widths[i+1]-utf8.RuneCountInString(cell))+cell)
	}
	if note != "" {
		note = "(" + note + ")"
	}
	t.line(strings.Join(append(parts, cells[last]), "  ") + " " + note)
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
}
