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
	if err := newFolder(dir); err != nil {
		return err
	}
	return file.WriteJSON(path, p)
}

// newFolder makes a folder. One that exists must be empty.
func newFolder(dir string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%w: %s is not empty and has no %s: choose another with -o, or remove it", ErrOtherPlan, dir, planFile)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("output folder: %w: choose another with -o", err)
	}
	return nil
}

// compare refuses a plan that is not the saved one, and names what differs.
func (p *Plan) compare(path string, saved []byte) error {
	var old Plan
	if err := json.Unmarshal(saved, &old); err != nil {
		return fmt.Errorf("%w: %s cannot be read: %w", ErrOtherPlan, path, err)
	}
	before, errBefore := leaves(old)
	wanted, errWanted := leaves(p)
	if err := errors.Join(errBefore, errWanted); err != nil {
		return err
	}
	if diff := experiment.Differences(before, wanted); len(diff) > 0 {
		return fmt.Errorf("%w: %s has another plan: %s: repeat its command line to continue it, or choose another folder with -o", ErrOtherPlan, filepath.Dir(path), strings.Join(diff, "; "))
	}
	return nil
}

// Is reports whether a folder holds a search, or a report of saved runs.
func Is(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, planFile)); err == nil {
		return true
	}
	_, err := Load(dir)
	return err == nil
}
