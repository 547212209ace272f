package capacity

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/xdsbench/xdsbench/internal/file"
)

// labelWidth is the width of the column of titles, as in the reports of runs.
const labelWidth = 15

// headline is the first line: what the report comes down to.
func (r *Report) headline() string {
	switch {
	case r.Answer == nil:
		return "SIZING  from saved runs"
	case r.Partial:
		return "PARTIAL  " + r.Answer.Text
	}
	return "CAPACITY  " + r.Answer.Text
}

// Text writes a summary for a terminal; dir, where the report is saved, is named
// at its end unless it is empty.
func (r *Report) Text(w io.Writer, dir string) error {
	var out bytes.Buffer
	fmt.Fprintln(&out, r.headline())
	for _, s := range r.sections() {
		if s.detail {
			continue
		}
		if s.title == "Answer" {
			s.title, s.lines = "", s.lines[1:]
			if len(s.lines) == 0 {
				continue
			}
		} else {
			fmt.Fprintln(&out)
		}
		label := s.title
		lines := s.lines
		if len(s.table) > 1 {
			lines = append(append([]string(nil), lines...), aligned(s.table)...)
		}
		for _, line := range lines {
			fmt.Fprintln(&out, strings.TrimRight(fmt.Sprintf("%-*s%s", labelWidth, label, line), " "))
			label = ""
		}
	}
	if dir != "" && r.Partial {
		fmt.Fprintf(&out, "\n%-*sto go on, repeat the command line with -o %s\n", labelWidth, "Go on", dir)
	}
	if dir != "" {
		fmt.Fprintf(&out, "\n%-*s%s\n", labelWidth, "Files", dir)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// aligned writes a table in columns.
func aligned(rows [][]string) []string {
	var out bytes.Buffer
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil {
		return []string{err.Error()} // not with a buffer
	}
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

// Markdown writes the whole report.
func (r *Report) Markdown(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s\n", escape(r.headline()))
	for _, s := range r.sections() {
		fmt.Fprintf(&out, "\n## %s\n", s.title)
		for _, line := range s.lines {
			fmt.Fprintf(&out, "\n- %s", escape(line))
		}
		if len(s.lines) > 0 {
			fmt.Fprintln(&out)
		}
		if len(s.table) < 2 {
			continue
		}
		fmt.Fprintln(&out)
		for i, row := range s.table {
			for j := range row {
				row[j] = escape(row[j])
			}
			fmt.Fprintf(&out, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintf(&out, "|%s\n", strings.Repeat(" --- |", len(row)))
			}
		}
	}
	for _, p := range r.plots() {
		fmt.Fprintf(&out, "\n![%s](%s)\n", p.chart.Title, p.file)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// escape keeps text from being taken for a table or for HTML.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
}

// JSON writes the report as it is saved.
func (r *Report) JSON(w io.Writer) error { return file.EncodeJSON(w, r) }

// Save writes the report in all formats into a folder.
func (r *Report) Save(dir string) error {
	errs := []error{
		file.Write(filepath.Join(dir, reportFile), r.JSON),
		file.Write(filepath.Join(dir, markdownFile), r.Markdown),
	}
	for _, p := range r.plots() {
		errs = append(errs, file.Write(filepath.Join(dir, p.file), p.chart.SVG))
	}
	return errors.Join(errs...)
}
