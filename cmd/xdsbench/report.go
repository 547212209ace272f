package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/xdsbench/xdsbench/experiment/anatomy"
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
			d, found, err := loadReport(args[0], format)
			if err != nil {
				return usageError(err)
			}
			return printDocument(s.stdout, format.name, d, found)
		},
	}
	format.register(c.Flags(), "text", "json", "markdown")
	return c
}

// loadReport loads what a folder holds, and describes it.
func loadReport(dir string, format formatFlag) (*doc.Document, any, error) {
	if err := format.check(); err != nil {
		return nil, nil, err
	}
	switch {
	case sweep.Is(dir):
		r, err := sweep.Load(dir)
		if err != nil {
			return nil, nil, err
		}
		return r.Document(format.named(dir)), r, nil
	case capacity.Is(dir):
		r, err := capacity.Load(dir)
		if err != nil {
			return nil, nil, err
		}
		return r.Document(format.named(dir)), r, nil
	}
	if anatomy.Is(dir) {
		a, err := anatomy.Load(dir)
		if err != nil {
			return nil, nil, err
		}
		return a.Document(format.named(dir)), a, nil
	}
	r, err := result.Load(dir)
	if err != nil {
		return nil, nil, err
	}
	observe.AddWork(r) // results of older versions lack it
	d, err := report.Document(r, format.named(dir))
	return d, r, err
}

// printDocument writes what was found: as JSON, or a document of it.
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
