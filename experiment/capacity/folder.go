package capacity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/collect"
)

// The files of a search's folder.
const (
	planFile     = "capacity.json"
	reportFile   = "report.json"
	markdownFile = "report.md"
	runsDir      = "runs"
)

// ErrOtherPlan says that a folder cannot take a search: it holds another one, or
// something else.
var ErrOtherPlan = errors.New("the output folder is not this search's")

// prepare makes a search's folder, or makes sure that the one there has this very
// plan.
func prepare(dir string, p *Plan) error {
	path := filepath.Join(dir, planFile)
	saved, err := os.ReadFile(path)
	switch {
	case err == nil:
		return p.compare(path, saved)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("output folder: %w: choose another with -o", err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%w: %s is not empty and has no %s: choose another with -o, or remove it", ErrOtherPlan, dir, planFile)
	}
	if err := os.MkdirAll(filepath.Join(dir, runsDir), 0o755); err != nil {
		return fmt.Errorf("output folder: %w: choose another with -o", err)
	}
	return writeJSON(path, p)
}

// compare refuses a plan that is not the saved one, and names what differs.
func (p *Plan) compare(path string, saved []byte) error {
	var old Plan
	if err := json.Unmarshal(saved, &old); err != nil {
		return fmt.Errorf("%w: %s cannot be read: %w", ErrOtherPlan, path, err)
	}
	if old.Schema != PlanSchema {
		return fmt.Errorf("%w: the schema of %s is %q, this version writes %q: choose another folder with -o", ErrOtherPlan, path, old.Schema, PlanSchema)
	}
	before, errBefore := leaves(&old)
	now, errNow := leaves(p)
	if err := errors.Join(errBefore, errNow); err != nil {
		return err
	}
	all := maps.Clone(before)
	maps.Copy(all, now)
	var diff []string
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if a, b := before[field], now[field]; a != b {
			diff = append(diff, fmt.Sprintf("%s: %s, not %s", field, orNone(a), orNone(b)))
		}
	}
	if len(diff) > 0 {
		return fmt.Errorf("%w: %s has another plan: %s: repeat its command line to go on with it, or choose another folder with -o", ErrOtherPlan, filepath.Dir(path), strings.Join(diff, "; "))
	}
	return nil
}

func orNone(text string) string {
	if text == "" {
		return "(none)"
	}
	return text
}

// leaves flattens a plan to its plain values by field.
func leaves(p *Plan) (map[string]string, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	out := make(map[string]string)
	flatten("", tree, out)
	return out, nil
}

func flatten(path string, node any, out map[string]string) {
	switch n := node.(type) {
	case map[string]any:
		for key, child := range n {
			flatten(strings.TrimPrefix(path+"."+key, "."), child, out)
		}
	case []any:
		for i, child := range n {
			flatten(fmt.Sprintf("%s[%d]", path, i), child, out)
		}
	default:
		out[path] = fmt.Sprint(n)
	}
}

func writeJSON(path string, value any) error {
	return collect.WriteFile(path, func(w io.Writer) error { return encode(w, value) })
}

func encode(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

// NewFolder makes a folder for a report without a search. One that exists must be
// empty.
func NewFolder(dir string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%w: %s is not empty: choose another with -o, or remove it", ErrOtherPlan, dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("output folder: %w: choose another with -o", err)
	}
	return nil
}
