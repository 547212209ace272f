// Package doc is what reports are made of: a tree of sections, with paragraphs,
// labelled statements, lists, tables and figures in them. The tree says what things
// are; Text and Markdown decide what they look like, and escape what they must.
// Whoever makes a report builds one tree and writes no markup.
//
// What has nothing in it is left out: a statement or an item without text, a table
// without rows or a column without cells, a section without blocks. A builder can
// thus name everything that a report may have, in order, without asking first
// whether it is there.
package doc

import "slices"

// Document is a report.
type Document struct {
	// Title names the report's subject.
	Title string
	// Verdict is the word that the report comes down to, in VerdictStyle; Headline is
	// the sentence after it. All are optional.
	Verdict      string
	VerdictStyle Style
	Headline     string

	sections []*Section
}

// Style says what a piece of text is.
type Style int

// The styles.
const (
	Plain  Style = iota
	Strong       // emphasised
	Code         // a name, a path or a command, written as it is
	Good         // as it should be
	Warn         // worth a look
	Bad          // a failure
)

// Section adds a section, with a heading or, if that is empty, without one.
func (d *Document) Section(heading string) *Section {
	s := &Section{heading: heading}
	d.sections = append(d.sections, s)
	return s
}

// Detail adds a section that Text leaves out: it is for those who read the whole.
func (d *Document) Detail(heading string) *Section {
	s := d.Section(heading)
	s.detail = true
	return s
}

// Section is a part of a document. Its methods add blocks at the end.
type Section struct {
	heading string
	detail  bool
	blocks  []block
}

// block is what a section consists of. Each format has a method.
type block interface {
	text(*textWriter)
	markdown(*markdownWriter)
}

type (
	paragraph string
	list      []string
	pairs     []pair
	pair      struct{ label, value string }
	code      string
	figure    struct{ file, caption string }
)

// Paragraph adds a text of its own.
func (s *Section) Paragraph(text string) { s.add(paragraph(text), text != "") }

// List adds items to a list.
func (s *Section) List(items ...string) {
	for _, item := range items {
		if item != "" {
			s.add(append(last[list](s), item), true)
		}
	}
}

// Pair adds a labelled statement. Those that follow one another stand together.
func (s *Section) Pair(label, value string) {
	if value != "" {
		s.add(append(last[pairs](s), pair{label, value}), true)
	}
}

// Code adds lines that are to be copied as they are, such as commands.
func (s *Section) Code(lines string) { s.add(code(lines), lines != "") }

// Figure adds a picture that is saved in a file, named in relation to the document.
func (s *Section) Figure(file, caption string) { s.add(figure{file, caption}, file != "") }

func (s *Section) add(b block, filled bool) {
	if filled {
		s.blocks = append(s.blocks, b)
	}
}

// last takes the last block off the section if it is of type T.
func last[T block](s *Section) T {
	var b T
	if n := len(s.blocks); n > 0 {
		if same, ok := s.blocks[n-1].(T); ok {
			b, s.blocks = same, s.blocks[:n-1]
		}
	}
	return b
}

// filled returns the sections with something in them, and that alone. details are
// among them if asked for.
func (d *Document) filled(details bool) []Section {
	var all []Section
	for _, s := range d.sections {
		x := *s
		x.blocks = slices.DeleteFunc(slices.Clone(s.blocks), func(b block) bool {
			t, ok := b.(*Table)
			return ok && len(t.shown().columns) == 0
		})
		if len(x.blocks) > 0 && (details || !s.detail) {
			all = append(all, x)
		}
	}
	return all
}
