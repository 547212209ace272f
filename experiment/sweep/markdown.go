package sweep

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Markdown writes the report as a page, with the charts that Files puts beside it.
func (r *Report) Markdown(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Sweep: %s\n\n%s\n", escape(r.Profile), escape(r.headline()))
	fmt.Fprintf(&out, "\n## Advice\n\n%s\n\n", escape(r.Advice.Text))
	markdownList(&out, r.Advice.Reasons)
	markdownTable(&out, r.tradeOff())
	fmt.Fprintf(&out, "\n%s\n", escape(legend()))
	markdownTable(&out, r.work())
	if front := r.frontNames(); len(front) > 0 {
		out.WriteString("\n## Front\n\n")
		markdownList(&out, front)
	}
	for _, c := range r.charts() {
		fmt.Fprintf(&out, "\n![%s](%s)\n", escape(c.chart.Title), c.file)
	}
	if c := r.contrasted(""); c != nil {
		markdownTable(&out, c.table())
		fmt.Fprintf(&out, "\n%s\n\nBy function, in this folder (the profiles are summed over the runs): `%s`\n", c.caveat(), c.mergedDiff)
	}
	if notes := r.notes(); len(notes) > 0 {
		out.WriteString("\n## Notes\n\n")
		markdownList(&out, notes)
	}
	out.WriteString("\n## Assumptions\n\n")
	markdownList(&out, r.Assumptions)
	r.markdownEnvironment(&out)
	fmt.Fprintf(&out, "\n## To make it again\n\nIn this folder, with relative paths of programs and kubeconfigs made absolute:\n\n```sh\n%s\n```\n\nOne setting alone:\n\n```sh\n%s\n```\n",
		r.Commands[0], strings.Join(r.Commands[1:], "\n"))
	_, err := w.Write(out.Bytes())
	return err
}

func (r *Report) markdownEnvironment(out *bytes.Buffer) {
	e := r.Environment
	if e == nil {
		return
	}
	lines := []string{fmt.Sprintf("machine: %s, %d CPUs, GOMAXPROCS %d, %s %s", e.CPUModel, e.CPUs, e.GOMAXPROCS, e.OS, e.Kernel)}
	lines = append(lines, "target: "+e.Target)
	for _, name := range sortedKeys(e.Versions) {
		lines = append(lines, name+" "+e.Versions[name])
	}
	out.WriteString("\n## Environment\n\n")
	markdownList(out, lines)
}

func markdownList(out *bytes.Buffer, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(out, "- %s\n", escape(line))
	}
}

func markdownTable(out *bytes.Buffer, t table) {
	fmt.Fprintf(out, "\n## %s\n\n", escape(t.title))
	for i, row := range append([][]string{t.head}, t.rows...) {
		cells := make([]string, len(row))
		for k, cell := range row {
			cells[k] = escape(cell)
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(out, "|%s%s\n", strings.Repeat(" :-- |", t.left), strings.Repeat(" --: |", len(row)-t.left))
		}
	}
}

// escape keeps text from being read as markup or as a table's border.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "`", "\\`", "~", `\~`).Replace(text)
}
