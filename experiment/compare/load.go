package compare

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
)

// Run is one saved result.
type Run struct {
	// Path is its file.
	Path   string
	Result *result.Result

	values               map[string]metric.Value
	profile, environment fields
}

// Set is the runs of one side.
type Set struct {
	// Path is what was named.
	Path string
	Runs []Run
}

// Load reads a result file, a folder that a run wrote, or every result.json in a
// folder of such folders, at any depth.
func Load(path string) (*Set, error) {
	files, err := resultFiles(path)
	if err != nil {
		return nil, err
	}
	set := &Set{Path: path}
	var errs []error
	for _, file := range files {
		run, err := loadRun(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		set.Runs = append(set.Runs, run)
	}
	return set, errors.Join(errs...)
}

// resultFiles lists the results that a path means, in lexical order.
func resultFiles(path string) ([]string, error) {
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: give a result folder, a result.json, or a folder of results", path, reason(err))
	}
	var files []string
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (file == root || d.Name() == result.ResultFile) {
			files = append(files, file)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%w in %s: there is no %s in it or below it", result.ErrNoResult, path, result.ResultFile)
	}
	return files, err
}

// reason returns an error without the path and the call it names.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func loadRun(file string) (Run, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Run{}, fmt.Errorf("loading a result: %w", err)
	}
	if data, err = result.Upgrade(data, file); err != nil {
		return Run{}, err
	}
	res, err := result.Decode(data, file)
	if err != nil {
		return Run{}, err
	}
	inFile, err := experiment.Leaves(data)
	if err != nil {
		return Run{}, fmt.Errorf("loading %s: %w", file, err)
	}
	return newRun(file, res, inFile), nil
}

// newRun takes the numbers that the file has. One that another version of
// xdsbench did not write is absent, not zero.
func newRun(file string, r *result.Result, inFile map[string]string) Run {
	observe.AddWork(r)
	run := Run{Path: file, Result: r, values: make(map[string]metric.Value), profile: profileFields(r)}
	run.environment = environmentFields(r, run.profile)
	if r.Partial {
		return run // no sample: what was pending when it was cut short counts as undelivered
	}
	for _, v := range metric.Values(r) {
		if _, written := inFile[v.Name]; written || v.MayOmit || v.Number != 0 {
			run.values[v.Name] = v
		}
	}
	run.values[contradictions] = metric.Value{Name: contradictions, Number: float64(len(r.Errors))}
	if p := r.Proxies; p != nil {
		run.values[neverReady] = metric.Value{Name: neverReady, Number: float64(p.Requested - p.Ready)}
	}
	return run
}
