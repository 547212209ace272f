package proxyconfig

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/internal/doc"
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
	page := &doc.Document{Headline: fmt.Sprintf("%s (%s): %s, %s", d.Node, d.Variant,
		either(d.Connected, "connected", "not connected"), either(d.Ready, "ready", "not ready"))}
	overview(page.Section("").Table(), d)
	var errs []error
	for i := range d.Types {
		errs = append(errs, resources(page.Section("").Table(), &d.Types[i]))
	}
	return errors.Join(append(errs, page.Text(w, doc.TextOptions{}))...)
}

// overview has a row per type, and the names that are awaited below each.
func overview(t *doc.Table, d fakeproxy.Dump) {
	t.Left("TYPE", "VERSION", "NONCE", "SUBSCRIPTION").Right("RESOURCES", "BYTES").Left("WARMING", "TIMED OUT")
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
		t.Row(dashed(strings.ToUpper(of.Type), of.Version, of.Nonce, subscription, strconv.Itoa(len(of.Resources)), strconv.Itoa(size),
			few(of.Warming), few(of.Expired))...)
	}
}

// few writes the first of a list of names, and how many more there are.
func few(list []string) string {
	const shown = 2
	if len(list) <= shown {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(list[:shown], ", "), len(list)-shown)
}

// resources makes the table of one type. Types without a section of their own have
// a row of name, version and size per resource.
func resources(t *doc.Table, of *fakeproxy.TypeDump) error {
	s := section{head: []string{strings.ToUpper(of.Type)}, rows: plainRows}
	for _, known := range sections() {
		if known.typ == of.Type {
			s = known
		}
	}
	t.Left(s.head...).Left("VERSION").Right("BYTES")
	var errs []error
	for i := range of.Resources {
		r := &of.Resources[i]
		rows, err := s.rows(r)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %q: %w", of.Type, r.Name, err))
			rows = [][]string{append([]string{r.Name}, make([]string, len(s.head)-1)...)}
		}
		version := r.Version
		if version == "" {
			version = of.Version // SotW has one for all
		}
		for _, row := range rows {
			t.Row(dashed(append(row, version, strconv.Itoa(r.Bytes))...)...)
		}
	}
	return errors.Join(errs...)
}

func plainRows(r *fakeproxy.ResourceDump) ([][]string, error) { return [][]string{{r.Name}}, nil }

// dashed marks cells without text, as istioctl does.
func dashed(cells ...string) []string {
	for i, cell := range cells {
		if cell == "" {
			cells[i] = "-"
		}
	}
	return cells
}

func either(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}
