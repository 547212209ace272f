package proxyconfig

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsbench/xdsbench/fakeproxy"
)

// The values of Change.What.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
)

// Change is a resource that a proxy holds otherwise than before.
type Change struct {
	Type string `json:"type"`
	Name string `json:"name"`
	What string `json:"what"`
	// Gained and Lost are the rows of the resource's table that came and went, such as
	// "10.0.0.1:8080 HEALTHY" of an EDS resource.
	Gained []string `json:"gained,omitempty"`
	Lost   []string `json:"lost,omitempty"`
	// Fields are the fields of a changed resource that differ, by their names in the API.
	Fields []string `json:"fields,omitempty"`
}

// Changes compares two dumps of one proxy, with the content of the resources: type by
// type, in the order of names.
func Changes(before, after fakeproxy.Dump) ([]Change, error) {
	var all []Change
	var errs []error
	for i := range after.Types {
		var old []fakeproxy.ResourceDump
		if i < len(before.Types) {
			old = before.Types[i].Resources
		}
		c, err := changesOf(after.Types[i].Type, old, after.Types[i].Resources)
		all, errs = append(all, c...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// changesOf merges two lists of resources, both sorted by name.
func changesOf(typ string, before, after []fakeproxy.ResourceDump) ([]Change, error) {
	var all []Change
	var errs []error
	for len(before) > 0 || len(after) > 0 {
		c := Change{Type: typ}
		var old, now *fakeproxy.ResourceDump
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Name < after[0].Name:
			c.What, old = Removed, &before[0]
		case len(before) == 0 || after[0].Name < before[0].Name:
			c.What, now = Added, &after[0]
		default:
			c.What, old, now = Changed, &before[0], &after[0]
		}
		if old != nil {
			c.Name, before = old.Name, before[1:]
		}
		if now != nil {
			c.Name, after = now.Name, after[1:]
		}
		if c.What == Changed && bytes.Equal(old.Content, now.Content) {
			continue
		}
		errs = append(errs, c.compare(old, now))
		all = append(all, c)
	}
	return all, errors.Join(errs...)
}

// compare finds what differs of a resource; one of both may be nil.
func (c *Change) compare(old, now *fakeproxy.ResourceDump) error {
	was, err1 := rowsOf(c.Type, old)
	is, err2 := rowsOf(c.Type, now)
	without := func(rows, others []string) (out []string) {
		for _, row := range rows {
			if !slices.Contains(others, row) {
				out = append(out, row)
			}
		}
		return out
	}
	c.Gained, c.Lost = without(is, was), without(was, is)
	err := errors.Join(err1, err2)
	if c.What == Changed {
		var err3 error
		c.Fields, err3 = differing(old.Content, now.Content)
		err = errors.Join(err, err3)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", c.Type, c.Name, err)
	}
	return nil
}

// rowsOf are the rows of a resource's table as lines of text, without what they have in
// common: the name of the cluster or of the route configuration.
func rowsOf(typ string, r *fakeproxy.ResourceDump) ([]string, error) {
	if r == nil {
		return nil, nil
	}
	for _, s := range sections() {
		if s.typ != typ {
			continue
		}
		rows, err := s.rows(r)
		var lines []string
		for _, row := range rows {
			cells := slices.DeleteFunc(slices.Clone(row), func(cell string) bool { return cell == "" || cell == r.Name })
			if line := strings.Join(cells, " "); line != "" && line != noEndpoints {
				lines = append(lines, line)
			}
		}
		return lines, err
	}
	return nil, nil
}

// differing names the fields in which two resources differ.
func differing(old, now []byte) ([]string, error) {
	was, err := unpack(old)
	if err != nil {
		return nil, err
	}
	is, err := unpack(now)
	if err != nil {
		return nil, err
	}
	if was.ProtoReflect().Descriptor() != is.ProtoReflect().Descriptor() {
		return []string{"@type"}, nil
	}
	var names []string
	a, b := was.ProtoReflect(), is.ProtoReflect()
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); a.Has(f) != b.Has(f) || a.Has(f) && !a.Get(f).Equal(b.Get(f)) {
			names = append(names, string(f.Name()))
		}
	}
	return names, nil
}

func unpack(content []byte) (proto.Message, error) {
	var packed anypb.Any
	if err := proto.Unmarshal(content, &packed); err != nil {
		return nil, err
	}
	return packed.UnmarshalNew()
}
