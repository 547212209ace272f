package calibrate

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Text writes the table for a terminal.
func (c *Report) Text(w io.Writer) error {
	var b strings.Builder
	verdict, failed := "PASS", 0
	for _, line := range c.Lines {
		if !line.Pass {
			verdict = "FAIL"
			failed++
		}
	}
	fmt.Fprintf(&b, "%s  %d of %d figures agree with what was injected, %d proxies\n\n", verdict, len(c.Lines)-failed, len(c.Lines), c.Proxies)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "injected fault\tfigure\tinjected\tmeasured\tallowed\t")
	for _, line := range c.Lines {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", line.Fault, line.Figure,
			line.amount(line.Injected), line.amount(line.Measured), line.allowed(), line.verdict())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, line := range c.Lines {
		if line.Problem != "" {
			fmt.Fprintf(&b, "\n%s: %s: %s\n", line.Fault, line.Figure, line.Problem)
		}
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(&b, "\nWarning  %s\n", warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *Line) amount(v float64) string {
	if l.Unit == "s" {
		return fmt.Sprintf("%.2f ms", 1000*v)
	}
	return fmt.Sprintf("%.0f", v)
}

func (l *Line) allowed() string {
	if l.Unit == "s" {
		return fmt.Sprintf("± %.2f ms", 1000*l.Tolerance)
	}
	return "exact"
}

func (l *Line) verdict() string {
	if l.Pass {
		return "pass"
	}
	return "FAIL"
}
