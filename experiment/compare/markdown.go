package compare

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the comparison for a comment or a page.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	word, rest, _ := strings.Cut(r.headline(), "  ")
	fmt.Fprintf(&b, "**%s** %s\n\n", word, escape(rest))
	for _, x := range r.Regressions {
		fmt.Fprintf(&b, "- `%s`: %s\n", x.Metric, escape(x.Reason))
	}
	fmt.Fprintf(&b, "- old: %s (%s), new: %s (%s)\n", escape(r.Old.Path), plural(len(r.Old.Runs), "run", "runs"),
		escape(r.New.Path), plural(len(r.New.Runs), "run", "runs"))
	for _, d := range r.Profile {
		fmt.Fprintf(&b, "- profile: %s\n", escape(d.line()))
	}
	for _, d := range r.Environment {
		fmt.Fprintf(&b, "- environment: %s\n", escape(d.line()))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "- warning: %s\n", escape(warning))
	}
	for _, s := range r.sections() {
		s.markdown(&b)
	}
	b.WriteByte('\n')
	for _, line := range r.legend() {
		fmt.Fprintf(&b, "%s\n", escape(line))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *section) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n", s.title)
	if len(s.rows) > 0 {
		head := tableHead()
		fmt.Fprintf(b, "\n| %s |\n| :--%s | :-- |\n", strings.Join(head, " | "), strings.Repeat(" | --:", len(head)-2))
	}
	for _, row := range s.rows {
		cells := []string{"`" + strings.ReplaceAll(row.cells[0], "|", `\|`) + "`"}
		for _, cell := range row.cells[1:] {
			cells = append(cells, escape(cell))
		}
		if row.deciding {
			cells[0] = "• " + cells[0]
		}
		last := len(cells) - 1
		if row.note != "" {
			cells[last] += " (" + escape(row.note) + ")"
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
	if len(s.zeros) > 0 {
		fmt.Fprintf(b, "\n0 in all runs: `%s`\n", strings.Join(s.zeros, "`, `"))
	}
}

// escape keeps text from being read as markup or as a table's border.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "`", "\\`", "~", `\~`).Replace(text)
}
