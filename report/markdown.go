package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/xdsbench/xdsbench/result"
)

// Markdown writes a summary for a comment or a page.
func Markdown(w io.Writer, r *result.Result) error {
	d, err := describe(r)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "**%s** %s\n", d.verdict, escape(d.headline))
	if len(d.slo) > 0 {
		slo := table{title: "SLO", head: []string{"metric", "value", "limit", ""}}
		for _, s := range d.slo {
			word := "**missed**"
			if s.pass {
				word = "kept"
			}
			slo.rows = append(slo.rows, []string{"`" + s.metric + "`", s.value, escape(s.limit), word})
		}
		markdownTable(&out, slo)
	}
	for _, t := range d.tables {
		markdownTable(&out, t)
	}
	out.WriteByte('\n')
	for _, f := range append(d.facts, d.notes...) {
		fmt.Fprintf(&out, "- %s: %s\n", f.label, escape(f.text))
	}
	_, err = w.Write(out.Bytes())
	return err
}

func markdownTable(out *bytes.Buffer, t table) {
	fmt.Fprintf(out, "\n### %s\n\n| %s |\n| :--", t.title, strings.Join(t.head, " | "))
	out.WriteString(strings.Repeat(" | --:", len(t.head)-1) + " |\n")
	for _, row := range t.rows {
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
	}
}

// escape keeps text from being read as markup or as a table's border.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "`", "\\`").Replace(text)
}
