package fakekube

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/jsonpath"
)

// column is a column of a Table after the name.
type column struct {
	name string
	kind string // string, integer or date
	wide bool   // shown by kubectl get -o wide only
	path string // of a custom resource: where the value is
}

func newTable(version uint64) *metav1.Table {
	t := &metav1.Table{Rows: []metav1.TableRow{}}
	t.APIVersion, t.Kind = metav1.SchemeGroupVersion.String(), asTable
	t.ResourceVersion = strconv.FormatUint(version, 10)
	return t
}

// table shows records as kubectl prints them. Each row carries the object's
// metadata, or what includeObject asks for.
func (c *call) table(records []*record, version uint64, columns bool) (*metav1.Table, error) {
	t := newTable(version)
	printed := tableColumns(c.res)
	if columns {
		t.ColumnDefinitions = []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}}
		for _, col := range printed {
			def := metav1.TableColumnDefinition{Name: col.name, Type: col.kind}
			if col.kind == "date" && c.res.typed {
				def.Type = "string" // A built-in kind's age comes as text.
			}
			if col.wide {
				def.Priority = 1
			}
			t.ColumnDefinitions = append(t.ColumnDefinitions, def)
		}
	}
	now := time.Now()
	for _, rec := range records {
		cells := append([]any{rec.key.name}, tableCells(c.res, printed, rec, now)...)
		row := metav1.TableRow{Cells: cells}
		if err := c.rowObject(&row, rec); err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

func (c *call) rowObject(row *metav1.TableRow, rec *record) error {
	f := formMetaJSON
	switch metav1.IncludeObjectPolicy(c.query.Get("includeObject")) {
	case metav1.IncludeNone:
		return nil
	case metav1.IncludeObject:
		f = formJSON
	case metav1.IncludeMetadata:
	}
	b, err := rec.encode(c.res, f)
	row.Object = runtime.RawExtension{Raw: b.data}
	return err
}

// tableCells are a record's cells after its name.
func tableCells(res *resource, columns []column, rec *record, now time.Time) []any {
	if u, ok := rec.object().(*unstructured.Unstructured); ok {
		cells := make([]any, 0, len(columns))
		for _, col := range columns {
			cells = append(cells, customCell(u, col, now))
		}
		return cells
	}
	cells := builtinCells(rec.view(res))
	return append(cells[:ageIndex(columns)], append([]any{age(rec.metadata().GetCreationTimestamp(), now)}, cells[ageIndex(columns):]...)...)
}

// ageIndex is where the age stands among a built-in kind's columns.
func ageIndex(columns []column) int {
	for i, c := range columns {
		if c.kind == "date" {
			return i
		}
	}
	return len(columns)
}

// age prints how old something is.
func age(created metav1.Time, now time.Time) string {
	if created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(created.Time))
}

// customCell evaluates a printer column's JSONPath. A path that finds nothing,
// or is wrong, gives an empty cell.
func customCell(u *unstructured.Unstructured, col column, now time.Time) any {
	path := jsonpath.New(col.name).AllowMissingKeys(true)
	if err := path.Parse("{" + col.path + "}"); err != nil {
		return nil
	}
	found, err := path.FindResults(u.Object)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	value := found[0][0].Interface()
	switch v := value.(type) {
	case string:
		if col.kind != "date" {
			return v
		}
		when, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return "<invalid>"
		}
		return age(metav1.Time{Time: when}, now)
	case int64, float64, bool:
		return v
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return string(data)
}

// columnsOf reads "NAME:kind ..." where a + marks a wide column.
func columnsOf(text string) []column {
	var out []column
	for f := range strings.FieldsSeq(text) {
		name, kind, _ := strings.Cut(f, ":")
		name, wide := strings.CutPrefix(name, "+")
		if kind == "" {
			kind = "string"
		}
		out = append(out, column{name: strings.ReplaceAll(name, "_", " "), kind: kind, wide: wide})
	}
	return out
}
