package api

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/jsonpath"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// table shows revisions as kubectl prints them. Each row carries the object's
// metadata, or what includeObject asks for.
func (c *request) table(revisions []*object.Revision, version uint64, columns bool) (*metav1.Table, error) {
	t := &metav1.Table{Rows: []metav1.TableRow{}}
	t.APIVersion, t.Kind = metav1.SchemeGroupVersion.String(), asTable
	t.ResourceVersion = strconv.FormatUint(version, 10)
	if columns {
		t.ColumnDefinitions = append([]metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}},
			tableColumns(c.resource)...)
	}
	for _, rev := range revisions {
		row := metav1.TableRow{Cells: append([]any{rev.Key.Name}, tableCells(c.resource, rev)...)}
		if err := c.includeObject(&row, rev); err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

func (c *request) includeObject(row *metav1.TableRow, rev *object.Revision) error {
	f := object.Format{Partial: true}
	switch metav1.IncludeObjectPolicy(c.query.Get("includeObject")) {
	case metav1.IncludeNone:
		return nil
	case metav1.IncludeObject:
		f.Partial = false
	case metav1.IncludeMetadata:
	}
	e, err := rev.Encode(c.resource, f)
	row.Object = runtime.RawExtension{Raw: e.Data}
	return err
}

// tableColumns are the columns after the name.
func tableColumns(res *kinds.Resource) []metav1.TableColumnDefinition {
	var out []metav1.TableColumnDefinition
	add := func(name, kind string, wide bool) {
		def := metav1.TableColumnDefinition{Name: name, Type: kind}
		if wide {
			def.Priority = 1
		}
		out = append(out, def)
	}
	for _, col := range res.Columns {
		add(col.Name, col.Type, col.Wide)
	}
	if empty, err := scheme.Scheme.New(res.GVK); err == nil {
		columns, _ := builtinTable(empty)
		for f := range strings.FieldsSeq(columns) {
			name, kind, ok := strings.Cut(f, ":")
			if !ok {
				kind = "string"
			}
			name, wide := strings.CutPrefix(name, "+")
			add(name, kind, wide)
		}
	}
	return out
}

// tableCells are a revision's cells after its name.
func tableCells(res *kinds.Resource, rev *object.Revision) []any {
	u, ok := rev.Object().(*unstructured.Unstructured)
	if !ok {
		_, cells := builtinTable(rev.As(res))
		return cells
	}
	cells := make([]any, 0, len(res.Columns))
	for _, col := range res.Columns {
		cells = append(cells, customCell(u, col))
	}
	return cells
}

// customCell evaluates a printer column's JSONPath. A path that finds nothing,
// or is wrong, gives an empty cell.
func customCell(u *unstructured.Unstructured, col kinds.Column) any {
	path := jsonpath.New(col.Name).AllowMissingKeys(true)
	if err := path.Parse("{" + col.Path + "}"); err != nil {
		return nil
	}
	found, err := path.FindResults(u.Object)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	value := found[0][0].Interface()
	switch v := value.(type) {
	case string:
		if col.Type != "date" {
			return v
		}
		when, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return "<invalid>"
		}
		return table.ConvertToHumanReadableDateType(metav1.NewTime(when))
	case int64, float64, bool:
		return v
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return string(data)
}
