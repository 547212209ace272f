package proxyconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/xdsbench/xdsbench/fakeproxy"
)

// The sections of a dump.
const (
	Clusters  = "clusters"
	Endpoints = "endpoints"
	Listeners = "listeners"
	Routes    = "routes"
	All       = "all"
)

// Sections lists the sections that can be asked for.
func Sections() []string { return []string{Clusters, Endpoints, Listeners, Routes, All} }

// table is a section: a heading and rows of cells.
type table struct {
	head []string
	rows [][]string
}

// section is how the resources of one type become a table.
type section struct {
	name, typ string
	head      []string
	rows      func(*fakeproxy.ResourceDump) ([][]string, error)
}

func sections() []section {
	return []section{
		{Clusters, "cds", []string{"SERVICE FQDN", "PORT", "SUBSET", "DIRECTION", "TYPE"}, clusterRows},
		{Endpoints, "eds", []string{"ENDPOINT", "STATUS", "CLUSTER"}, endpointRows},
		{Listeners, "lds", []string{"LISTENER", "ADDRESS", "PORT", "DESTINATION"}, listenerRows},
		{Routes, "rds", []string{"NAME", "VHOST NAME", "DOMAINS", "MATCH", "DESTINATION"}, routeRows},
	}
}

// Check reports with an error that there is no such section.
func Check(name string) error {
	if slices.Contains(Sections(), name) {
		return nil
	}
	return fmt.Errorf("%q: must be one of %s", name, strings.Join(Sections(), ", "))
}

// Select returns the dump with the types of one section alone.
func Select(d fakeproxy.Dump, name string) (fakeproxy.Dump, error) {
	if err := Check(name); err != nil || name == All {
		return d, err
	}
	for _, s := range sections() {
		if s.name == name {
			d.Types = slices.DeleteFunc(slices.Clone(d.Types), func(t fakeproxy.TypeDump) bool { return t.Type != s.typ })
		}
	}
	return d, nil
}

// Text writes the dump: a line on the proxy, a table of types with versions and
// subscriptions, then a table per type. A resource that does not decode keeps
// its row, and makes the error.
func Text(w io.Writer, d fakeproxy.Dump) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s (%s): %s, %s\n\n", d.Node, d.Variant,
		either(d.Connected, "connected", "not connected"), either(d.Ready, "ready", "not ready"))
	errs := []error{overview(d).write(&out)}
	for i := range d.Types {
		t, err := tableOf(&d.Types[i])
		errs = append(errs, err)
		if len(t.rows) > 0 {
			out.WriteByte('\n')
			errs = append(errs, t.write(&out))
		}
	}
	_, err := w.Write(out.Bytes())
	return errors.Join(append(errs, err)...)
}

// overview has a row per type, and the names that are awaited below each.
func overview(d fakeproxy.Dump) table {
	t := table{head: []string{"TYPE", "VERSION", "NONCE", "SUBSCRIPTION", "RESOURCES", "BYTES", "WARMING", "TIMED OUT"}}
	for i := range d.Types {
		of := &d.Types[i]
		if !of.Asked && len(of.Resources) == 0 {
			continue
		}
		subscription := fmt.Sprintf("%d by name", len(of.Subscription))
		if of.Wildcard {
			subscription = "*"
		}
		size := 0
		for j := range of.Resources {
			size += of.Resources[j].Bytes
		}
		t.add(strings.ToUpper(of.Type), of.Version, of.Nonce, subscription, strconv.Itoa(len(of.Resources)), strconv.Itoa(size),
			few(of.Warming), few(of.Expired))
	}
	return t
}

// few writes the first of a list of names, and how many more there are.
func few(list []string) string {
	const shown = 2
	if len(list) <= shown {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(list[:shown], ", "), len(list)-shown)
}

// tableOf makes the table of one type. Types without a section of their own have
// a row of name, version and size per resource.
func tableOf(of *fakeproxy.TypeDump) (table, error) {
	s := section{head: []string{strings.ToUpper(of.Type)}, rows: plainRows}
	for _, known := range sections() {
		if known.typ == of.Type {
			s = known
		}
	}
	t := table{head: append(slices.Clone(s.head), "VERSION", "BYTES")}
	var errs []error
	for i := range of.Resources {
		r := &of.Resources[i]
		rows, err := s.rows(r)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %q: %w", of.Type, r.Name, err))
			rows = [][]string{append([]string{r.Name}, slices.Repeat([]string{"-"}, len(s.head)-1)...)}
		}
		version := r.Version
		if version == "" {
			version = of.Version // SotW has one for all
		}
		for _, row := range rows {
			t.add(append(row, dash(version), strconv.Itoa(r.Bytes))...)
		}
	}
	return t, errors.Join(errs...)
}

func plainRows(r *fakeproxy.ResourceDump) ([][]string, error) { return [][]string{{r.Name}}, nil }

func (t *table) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = dash(cell)
	}
	t.rows = append(t.rows, cells)
}

func (t table) write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, row := range append([][]string{t.head}, t.rows...) {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func either(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}
