package doc

import (
	"bytes"
	"io"
	"net/url"
	"regexp"
	"strings"
)

// Markdown writes the whole document in GitHub's dialect, for a page or a comment.
func (d *Document) Markdown(w io.Writer) error {
	m := &markdownWriter{}
	if d.Title != "" {
		m.block("# " + escape(d.Title))
	}
	if head := strings.TrimSpace(styled(d.Verdict, Strong) + " " + escape(d.Headline)); head != "" {
		m.block(begin(head))
	}
	for _, s := range d.filled(true) {
		if s.heading != "" {
			m.block("## " + escape(s.heading))
		}
		for _, b := range s.blocks {
			b.markdown(m)
		}
	}
	_, err := w.Write(m.out.Bytes())
	return err
}

type markdownWriter struct{ out bytes.Buffer }

// block writes the lines of a block, an empty line after what was there before.
func (m *markdownWriter) block(lines ...string) {
	if m.out.Len() > 0 {
		m.out.WriteByte('\n')
	}
	m.out.WriteString(strings.Join(lines, "\n") + "\n")
}

func (p paragraph) markdown(m *markdownWriter) { m.block(begin(escape(string(p)))) }

func (l list) markdown(m *markdownWriter) {
	var lines []string
	for _, item := range l {
		lines = append(lines, "- "+begin(escape(item)))
	}
	m.block(lines...)
}

func (p pairs) markdown(m *markdownWriter) {
	var lines []string
	for _, x := range p {
		lines = append(lines, "- "+styled(x.label, Strong)+": "+escape(x.value))
	}
	m.block(lines...)
}

func (c code) markdown(m *markdownWriter) {
	fence := "```"
	for strings.Contains(string(c), fence) {
		fence += "`"
	}
	m.block(fence, clean(string(c)), fence)
}

func (f figure) markdown(m *markdownWriter) {
	m.block("![" + escape(f.caption) + "](" + (&url.URL{Path: f.file}).String() + ")")
}

func (t *Table) markdown(m *markdownWriter) {
	t = t.shown()
	rules := make([]string, len(t.columns))
	for i, c := range t.columns {
		rules[i] = ":--"
		if c.right {
			rules[i] = "--:"
		}
	}
	lines := []string{markdownRow(t.head(), len(t.columns)), "| " + strings.Join(rules, " | ") + " |"}
	for _, r := range t.rows {
		lines = append(lines, markdownRow(r, len(t.columns)))
	}
	m.block(lines...)
}

func markdownRow(r row, columns int) string {
	cells := r.cells
	if r.group != "" {
		cells = []cell{{r.group, Strong}}
	}
	texts := make([]string, columns)
	for i, c := range cells {
		texts[i] = styled(c.text, c.style)
	}
	return "| " + strings.Join(texts, " | ") + " |"
}

// styled writes a text in its style. What is good needs no emphasis.
func styled(text string, s Style) string {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return ""
	case s == Strong, s == Warn, s == Bad:
		return "**" + escape(text) + "**"
	case s == Code && !strings.ContainsAny(text, "`|\\\n"):
		return "`" + clean(text) + "`"
	case s == Code:
		// Between backticks, nothing could be escaped.
		return "<code>" + escape(text) + "</code>"
	}
	return escape(text)
}

// escape keeps text from being read as markup, as a border of a table or as the end
// of a line. A backslash is written as an entity, so that all that are left escape
// something, for parsers that take tables apart before they look into cells too.
func escape(text string) string {
	return strings.NewReplacer(
		`\`, "&#92;", "&", "&amp;", "<", "&lt;", ">", "&gt;", "\n", "<br>",
		"|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "[", `\[`, "]", `\]`,
	).Replace(clean(strings.TrimSpace(text)))
}

// begin keeps the first of a block's escaped text from being read as the mark of a
// heading, a list or a rule.
func begin(text string) string {
	return regexp.MustCompile(`^(\d*)([#+\-=.)])`).ReplaceAllString(text, `$1\$2`)
}
