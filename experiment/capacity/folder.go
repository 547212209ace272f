package capacity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/internal/file"
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
	return file.WriteJSON(path, p)
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
	now, err := json.Marshal(p)
	if err != nil {
		return err
	}
	before, errBefore := experiment.Leaves(saved)
	wanted, errNow := experiment.Leaves(now)
	if err := errors.Join(errBefore, errNow); err != nil {
		return err
	}
	diff := experiment.Differences(before, wanted)
	if len(diff) > 0 {
		return fmt.Errorf("%w: %s has another plan: %s: repeat its command line to go on with it, or choose another folder with -o", ErrOtherPlan, filepath.Dir(path), strings.Join(diff, "; "))
	}
	return nil
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
