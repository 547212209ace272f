package sweep

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Text writes the report for a terminal. dir is where the sweep is saved.
func (r *Report) Text(w io.Writer, dir string) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n\n", r.headline())
	textTable(&out, r.tradeOff())
	fmt.Fprintf(&out, "\n%s\n\n", legend())
	textTable(&out, r.work())
	if c := r.contrasted(dir); c != nil {
		out.WriteByte('\n')
		textTable(&out, c.table())
		fmt.Fprintf(&out, "\n%s\nBy function (profiles summed over the runs): %s\n", c.caveat(), c.mergedDiff)
	}
	textList(&out, "Notes", r.notes())
	textList(&out, "Front", r.frontNames())
	fmt.Fprintf(&out, "\nAdvice: %s\n", r.Advice.Text)
	for _, reason := range r.Advice.Reasons {
		fmt.Fprintf(&out, "  - %s\n", reason)
	}
	fmt.Fprintf(&out, "\nFiles: %s (%s, %s, charts)\n", dir, MarkdownFile, ReportFile)
	_, err := w.Write(out.Bytes())
	return err
}

// frontNames are the settings on the front with their two figures, and whether one
// differs from the one before by noise alone.
func (r *Report) frontNames() []string {
	var names []string
	var before *Outcome
	for _, id := range r.Front {
		o := r.find(id)
		name := fmt.Sprintf("%s: p99 %s for CPU %s", o.Name, o.cell(LatencyP99), o.cell(CPUSeconds))
		if before != nil && o.p99().overlaps(before.p99()) && o.cpu().overlaps(before.cpu()) {
			name += " (within noise of the one before)"
		}
		names, before = append(names, name), o
	}
	return names
}

func textList(out *bytes.Buffer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s:\n", title)
	for _, line := range lines {
		fmt.Fprintf(out, "  - %s\n", line)
	}
}

// textTable writes the mark and the name to the left, figures to the right.
func textTable(out *bytes.Buffer, t table) {
	fmt.Fprintln(out, t.title)
	rows := append([][]string{t.head}, t.rows...)
	widths := make([]int, len(t.head))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var cells []string
		for i, cell := range row {
			blank := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < t.left {
				cells = append(cells, cell+blank)
			} else {
				cells = append(cells, blank+cell)
			}
		}
		// A column of marks with no mark takes no room.
		if widths[0] == 0 {
			cells = slices.Delete(cells, 0, 1)
		}
		fmt.Fprintln(out, strings.TrimRight("  "+strings.Join(cells, "  "), " "))
	}
}
