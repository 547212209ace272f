package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/xdsbench/xdsbench/experiment/capacity"
	"github.com/xdsbench/xdsbench/experiment/sweep"
	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/file"
	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/report"
	"github.com/xdsbench/xdsbench/result"
)

const reportLong = `Renders a saved result again, or the report of a sweep or of a search for the
capacity. The saved folder alone is needed: a report can be made on another machine, or by a later version.

  xdsbench report results/quickstart-20260102-150405
  xdsbench report results/sweep-quickstart-20260102-150405
  xdsbench report --format markdown DIR > comment.md`

func reportCommand(s streams) *cobra.Command {
	var format formatFlag
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Render a saved result, in any format",
		Long:  reportLong,
		Args:  argsExactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if sweep.Is(args[0]) {
				return reportSweep(s, args[0], format.name)
			}
			if capacity.Is(args[0]) {
				return reportCapacity(s, args[0], format.name)
			}
			printer, err := printerFor(format.name)
			if err != nil {
				return usageError(err)
			}
			res, err := result.Load(args[0])
			if err != nil {
				return usageError(err)
			}
			observe.AddWork(res) // results of older versions lack it
			return printer(s.stdout, res, args[0])
		},
	}
	format.register(c.Flags(), "text", "json", "markdown")
	return c
}

// printer writes a result that is saved in dir.
type printer func(w io.Writer, r *result.Result, dir string) error

// printerFor returns the printer of a format.
func printerFor(format string) (printer, error) {
	switch format {
	case "text":
		return func(w io.Writer, r *result.Result, dir string) error {
			return report.Text(w, r, report.Options{TextOptions: terminal(w), Dir: dir})
		}, nil
	case "json":
		return func(w io.Writer, r *result.Result, _ string) error { return report.JSON(w, r) }, nil
	case "markdown":
		return func(w io.Writer, r *result.Result, _ string) error { return report.Markdown(w, r) }, nil
	default:
		return nil, fmt.Errorf("--format: %q: must be text, json or markdown", format)
	}
}

// printDocument writes what an experiment found: as JSON, or a document of it.
func printDocument(w io.Writer, format string, d *doc.Document, found any) error {
	switch format {
	case "json":
		return file.EncodeJSON(w, found)
	case "markdown":
		return d.Markdown(w)
	}
	return d.Text(w, terminal(w))
}

// terminal returns how text is written to w: in colour and as wide as the window if it
// is a terminal, else as it comes. NO_COLOR is that of no-color.org.
func terminal(w io.Writer) doc.TextOptions {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return doc.TextOptions{}
	}
	o := doc.TextOptions{Color: os.Getenv("NO_COLOR") == ""}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
		o.Width = width
	}
	return o
}
