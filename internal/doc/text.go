package doc

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TextOptions say what the terminal is like.
type TextOptions struct {
	// Width is where lines are broken, in runes; zero for nowhere. Words are never
	// broken, so that a long name can stand out.
	Width int
	// Color allows ANSI colours.
	Color bool
}

const (
	// gap is between columns.
	gap = 2
	// narrowest is how far columns of words are narrowed at most.
	narrowest = 20
)

// Text writes the document for a terminal, in the order of its parts and without the
// details. Control characters are not written.
func (d *Document) Text(w io.Writer, o TextOptions) error {
	t := &textWriter{TextOptions: o}
	title := d.Title
	if title != "" && d.Headline != "" {
		title += ": "
	}
	if head := title + d.Headline; d.Verdict != "" || head != "" {
		if d.Verdict != "" {
			head = d.Verdict + "  " + head
		}
		lines := wrap(head, o.Width)
		if rest, ok := strings.CutPrefix(lines[0], clean(d.Verdict)); ok {
			lines[0] = t.paint(d.Verdict, d.VerdictStyle) + rest
		}
		t.lines(lines)
	}
	for _, s := range d.filled(false) {
		t.blank()
		t.indent = 0
		if s.heading != "" {
			t.line(t.paint(s.heading, Strong))
			t.indent = gap
		}
		for i, b := range s.blocks {
			if i > 0 {
				t.blank()
			}
			b.text(t)
		}
	}
	_, err := w.Write(t.out.Bytes())
	return err
}

type textWriter struct {
	TextOptions
	out    bytes.Buffer
	indent int
}

// line writes its parts behind the indentation, without blanks at the end.
func (t *textWriter) line(parts ...string) {
	line := strings.TrimRight(strings.Join(parts, ""), " ")
	if line != "" {
		t.out.WriteString(strings.Repeat(" ", t.indent))
	}
	t.out.WriteString(line + "\n")
}

func (t *textWriter) lines(lines []string) {
	for _, line := range lines {
		t.line(line)
	}
}

// blank writes an empty line between two parts.
func (t *textWriter) blank() {
	if t.out.Len() > 0 {
		t.out.WriteByte('\n')
	}
}

// left is the room for a text that begins after so many runes; zero for any.
func (t *textWriter) left(used int) int {
	if t.Width == 0 {
		return 0
	}
	return max(t.Width-t.indent-used, narrowest)
}

// hanging writes a text whose later lines stand below its first, after a label.
func (t *textWriter) hanging(label string, width int, text string) {
	for _, line := range wrap(text, t.left(width)) {
		t.line(fmt.Sprintf("%-*s", width, clean(label)), line)
		label = ""
	}
}

func (p paragraph) text(t *textWriter) { t.lines(wrap(string(p), t.left(0))) }

func (l list) text(t *textWriter) {
	for _, item := range l {
		t.hanging("-", gap, item)
	}
}

func (p pairs) text(t *textWriter) {
	width := 0
	for _, x := range p {
		width = max(width, utf8.RuneCountInString(x.label))
	}
	for _, x := range p {
		t.hanging(x.label, width+gap, x.value)
	}
}

func (c code) text(t *textWriter) {
	t.lines(strings.Split(clean(string(c)), "\n"))
}

func (f figure) text(t *textWriter) { t.hanging("", 0, f.caption+": "+f.file) }

func (t *Table) text(w *textWriter) {
	t = t.shown()
	indent := w.indent
	if slices.ContainsFunc(t.rows, func(r row) bool { return r.group != "" }) {
		w.indent += gap
	}
	widths := t.widths(w.left(0))
	if t.headed() {
		w.row(t, t.head(), widths)
	}
	rows := w.indent
	for _, r := range t.rows {
		if r.group == "" {
			w.row(t, r, widths)
			continue
		}
		w.indent = indent
		w.line(w.paint(r.group, Strong))
		w.indent = rows
	}
	w.indent = indent
}

// widths are those of the columns: as wide as their cells, but if the room is too
// small, then columns of words are narrowed, the widest first.
func (t *Table) widths(room int) []int {
	widths, least := make([]int, len(t.columns)), make([]int, len(t.columns))
	for i := range least {
		least[i] = narrowest
	}
	for _, r := range append(t.rows, t.head()) {
		for i, c := range r.cells {
			widths[i] = max(widths[i], longest(c.text, "\n"))
			least[i] = max(least[i], longest(c.text, " \n"))
		}
	}
	excess := gap*(len(widths)-1) - room
	for _, width := range widths {
		excess += width
	}
	for room > 0 && excess > 0 {
		widest := -1
		for i, c := range t.columns {
			if !c.right && widths[i] > least[i] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		narrowed := max(least[widest], widths[widest]-excess)
		excess -= widths[widest] - narrowed
		widths[widest] = narrowed
	}
	return widths
}

// longest returns how many runes the longest part of a text has.
func longest(text, separators string) int {
	most := 0
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		most = max(most, utf8.RuneCountInString(part))
	}
	return most
}

// row writes a row of a table in as many lines as its highest cell has.
func (t *textWriter) row(of *Table, r row, widths []int) {
	cells := make([][]string, len(r.cells))
	height := 0
	for i, c := range r.cells {
		cells[i] = wrap(c.text, widths[i])
		height = max(height, len(cells[i]))
	}
	for n := range height {
		var parts []string
		for i, lines := range cells {
			text := ""
			if n < len(lines) {
				text = lines[n]
			}
			blanks := strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(text), 0))
			text = t.paint(text, r.cells[i].style)
			if of.columns[i].right {
				text, blanks = blanks, text
			}
			parts = append(parts, text, blanks, strings.Repeat(" ", gap))
		}
		t.line(parts...)
	}
}

// paint colours a text by its style.
func (t *textWriter) paint(text string, s Style) string {
	text = clean(text)
	codes := map[Style]string{Strong: "1", Good: "1;32", Warn: "1;33", Bad: "1;31"}
	if code, ok := codes[s]; ok && t.Color && text != "" {
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	return text
}

// wrap breaks a text at blanks into lines of at most width runes, if no word is
// longer; at line breaks in any case. There is always a line.
func wrap(text string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(clean(text), "\n") {
		line = strings.TrimRight(line, " ")
		for width > 0 && utf8.RuneCountInString(line) > width {
			cut := breakAt(line, width)
			if cut < 0 {
				break
			}
			lines = append(lines, strings.TrimRight(line[:cut], " "))
			line = strings.TrimLeft(line[cut:], " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// breakAt returns the last blank between words that is within the width, or else
// the first beyond; -1 if there is one word.
func breakAt(line string, width int) int {
	cut, runes, begun := -1, 0, false
	for i, r := range line {
		if r != ' ' {
			begun = true
		} else if begun && (runes <= width || cut < 0) {
			cut = i
		}
		runes++
	}
	return cut
}

// clean replaces what a terminal would obey and not show.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r) && r != '\n':
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
