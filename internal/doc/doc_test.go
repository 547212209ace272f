package doc_test

import (
	"bytes"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/testutil/golden"
)

// sample has one of everything.
func sample() *doc.Document {
	d := &doc.Document{
		Title: "quickstart", Verdict: "FAIL", VerdictStyle: doc.Bad,
		Headline: "missed 1 of 2 SLOs (propagation.all.p99); changes reached proxies in 175 ms (p50), 258 ms (p99)",
	}
	s := d.Section("")
	s.Pair("Target", "istiod 1.32 on an in-memory API server; 8 CPUs, 17.2 GB memory, of which some is shared with others")
	s.Pair("Absent", "")
	s.Pair("Control plane", "CPU 3.2 s")
	t := d.Section("Propagation").Table().Left("from the scheduled time").Right("count", "p99", "unused")
	t.Row("every proxy", "12,000", "258 ms").Row("first proxy", "60", "9.5 µs", "")
	t = d.Section("SLO").Table().Code("metric").Right("value", "limit").Left("")
	t.Group("Latency").Row("propagation.all.p99", "258 ms", "100ms", "missed").Mark(3, doc.Bad)
	t.Row("propagation.spread.p99", "99 ms", "100ms", "kept").Mark(3, doc.Good)
	t.Group("Volume").Row("volume.byType.*.bytes", "7 MB", "", "not a limit, but to be looked at by whoever reads this").Mark(3, doc.Warn)
	s = d.Section("Advice")
	s.Paragraph("# take 20 ms: it keeps the SLO <in all> repeats|runs,\nfor the least CPU.")
	s.List("1. the fastest is *this*", "", "- `that` is not")
	s.List("a third")
	s = d.Detail("To repeat it")
	s.Code("xdsbench run quickstart\nxdsbench report results")
	s.Figure("charts/p99 by cpu.svg", "p99 by CPU [s]")
	d.Section("Charts").Figure("p99.svg", "p99")
	d.Section("Nothing").Table().Left("no rows")
	d.Section("Nothing either").List()
	return d
}

func text(t *testing.T, d *doc.Document, o doc.TextOptions) string {
	t.Helper()
	var out bytes.Buffer
	if err := d.Text(&out, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestDocumentsAreAsInTheGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*doc.Document, io.Writer) error{
		"wide.txt":   func(d *doc.Document, w io.Writer) error { return d.Text(w, doc.TextOptions{}) },
		"narrow.txt": func(d *doc.Document, w io.Writer) error { return d.Text(w, doc.TextOptions{Width: 60}) },
		"color.txt":  func(d *doc.Document, w io.Writer) error { return d.Text(w, doc.TextOptions{Color: true}) },
		"sample.md":  (*doc.Document).Markdown,
	} {
		golden.Check(t, name, func(w io.Writer) error { return write(sample(), w) })
	}
}

// nasty are texts of what Markdown takes for markup.
func nasty() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("ab 1|\\`*_~<>&#;[](){}!-+=.\n\t\x1bé—")), 0, 40, -1)
}

// shownAs is what a page shows of a text: line breaks, and blanks but not how many.
func shownAs(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\x1b", "\uFFFD")
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// cells takes a row of a GitHub table apart as its specification says, and shows
// each cell as a page would.
func cells(row string) []string {
	var found []string
	for _, c := range regexp.MustCompile(`(?:\\.|[^|\\])+`).FindAllString(row, -1) {
		c = strings.TrimSpace(c)
		if inner, ok := strings.CutPrefix(c, "`"); ok && !strings.Contains(strings.TrimSuffix(inner, "`"), "`") {
			found = append(found, shownAs(strings.TrimSuffix(inner, "`"))) // as it stands
			continue
		}
		c = strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(c, "**"), "</code>"), "<code>")
		c = strings.ReplaceAll(strings.TrimPrefix(c, "**"), "<br>", "\n")
		if regexp.MustCompile("(^|[^\\\\])[`*_~<\\[\\]]").MatchString(c) {
			return []string{"markup in " + c}
		}
		c = regexp.MustCompile(`\\([[:punct:]])`).ReplaceAllString(c, "$1")
		found = append(found, shownAs(html.UnescapeString(c)))
	}
	return found
}

func TestCellsSurviveMarkdown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want := make([]string, 4)
		for i := range want {
			want[i] = nasty().Filter(func(s string) bool { return shownAs(s) != "" }).Draw(rt, "cell")
		}
		d := &doc.Document{}
		d.Section("").Table().Left("a").Right("b").Code("c").Left("d").Row(want...).Mark(3, doc.Bad)
		var out bytes.Buffer
		if err := d.Markdown(&out); err != nil {
			rt.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 3 {
			rt.Fatalf("%d lines:\n%s", len(lines), out.String())
		}
		for i := range want {
			want[i] = shownAs(want[i])
		}
		if diff := cmp.Diff(want, cells(lines[2])); diff != "" {
			rt.Fatalf("%s\n(-want +got):\n%s", lines[2], diff)
		}
	})
}

func TestBlocksDoNotBreakOutOfMarkdown(t *testing.T) {
	t.Parallel()
	mark := regexp.MustCompile(`^\s*([-+=]|#|>|\d+[.)])`)
	rapid.Check(t, func(rt *rapid.T) {
		content := nasty().Filter(func(s string) bool { return s != "" }).Draw(rt, "text")
		d := &doc.Document{}
		d.Section("").Paragraph(content)
		d.Section("").List(content)
		d.Section("").Pair("label", content)
		var out bytes.Buffer
		if err := d.Markdown(&out); err != nil {
			rt.Fatal(err)
		}
		blocks := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(blocks) != 5 {
			rt.Fatalf("%d lines instead of three blocks:\n%s", len(blocks), out.String())
		}
		for _, begin := range []string{blocks[0], strings.TrimPrefix(blocks[2], "- ")} {
			if mark.MatchString(begin) {
				rt.Fatalf("%q begins with a mark", begin)
			}
		}
	})
}

func TestTextKeepsToTheWidthWhereWordsAllow(t *testing.T) {
	t.Parallel()
	words := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("aé—µ")), 1, 12, -1), 1, 30)
	rapid.Check(t, func(rt *rapid.T) {
		width := rapid.IntRange(70, 120).Draw(rt, "width")
		draw := func() string { return strings.Join(words.Draw(rt, "words"), " ") }
		d := &doc.Document{Verdict: "PASS", Headline: draw()}
		s := d.Section("heading")
		s.Paragraph(draw())
		s.List(draw())
		s.Pair("label", draw())
		s.Table().Left("a").Right("b").Left("c").Row(draw(), "12 ms", draw()).Row("x", "1", draw())
		var out bytes.Buffer
		if err := d.Text(&out, doc.TextOptions{Width: width}); err != nil {
			rt.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				rt.Fatalf("%d runes in a line, want %d at most: %s", n, width, line)
			}
			if strings.HasSuffix(line, " \n") {
				rt.Fatalf("blanks at the end of %q", line)
			}
		}
	})
}

func TestColumnsAreAlignedByRunes(t *testing.T) {
	t.Parallel()
	d := &doc.Document{}
	d.Section("").Table().Left("é").Right("n").Row("µs—µs", "1").Row("a", "1,000").Row("b", "±5 µs", "beyond")
	want := "é          n\nµs—µs      1\na      1,000\nb      ±5 µs  beyond\n"
	if got := text(t, d, doc.TextOptions{}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestControlCharactersDoNotReachTheTerminal(t *testing.T) {
	t.Parallel()
	const evil = "a\x1b[2Jb\rc\xffd"
	d := &doc.Document{Title: evil, Verdict: evil, Headline: evil}
	s := d.Section(evil)
	s.Paragraph(evil)
	s.List(evil)
	s.Pair(evil, evil)
	s.Code(evil)
	s.Figure(evil, evil)
	s.Table().Left(evil).Group(evil).Row(evil)
	var page bytes.Buffer
	if err := d.Markdown(&page); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{text(t, d, doc.TextOptions{Width: 30}), page.String()} {
		if strings.ContainsAny(got, "\x1b\r") || !utf8.ValidString(got) {
			t.Errorf("control characters in %q", got)
		}
	}
}

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	full := errors.New("disk full")
	if err := r.CloseWithError(full); err != nil {
		t.Fatal(err)
	}
	if err := sample().Text(w, doc.TextOptions{}); !errors.Is(err, full) {
		t.Errorf("Text: error %v", err)
	}
	if err := sample().Markdown(w); !errors.Is(err, full) {
		t.Errorf("Markdown: error %v", err)
	}
}

func TestAnEmptyDocumentWritesNothing(t *testing.T) {
	t.Parallel()
	d := &doc.Document{}
	d.Section("heading").Pair("label", "")
	var page bytes.Buffer
	if err := d.Markdown(&page); err != nil {
		t.Fatal(err)
	}
	if got := text(t, d, doc.TextOptions{}) + page.String(); got != "" {
		t.Errorf("got %q", got)
	}
}
