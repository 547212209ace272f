package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/internal/file"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
)

// The files of a sweep's folder.
const (
	planFile    = "sweep.json"
	profileFile = "profile.yaml"
	runsDir     = "runs"
	// failureFile is in the folder of a run that failed, and says why.
	failureFile = "error.txt"
)

// ErrOtherPlan says that a folder cannot take a sweep: it holds another one, or
// something else.
var ErrOtherPlan = errors.New("the output folder is not this sweep's")

// Is reports whether a folder holds a sweep.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, planFile))
	return err == nil
}

// prepare makes a sweep's folder, or makes sure that the one there is has this
// very plan.
func prepare(dir string, p *Plan) error {
	saved, err := loadPlan(dir)
	switch {
	case err == nil:
		if diff := experiment.Differences(leaves(saved), leaves(p)); len(diff) > 0 {
			return fmt.Errorf("%w: %s has another plan: %s: repeat its command line to resume it, or choose another folder with -o", ErrOtherPlan, dir, strings.Join(diff, "; "))
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%w: %s is not empty and has no %s: choose another with -o, or remove it", ErrOtherPlan, dir, planFile)
	}
	if err := os.MkdirAll(filepath.Join(dir, runsDir), 0o755); err != nil {
		return fmt.Errorf("output folder: %w: choose another with -o", err)
	}
	profile, err := yaml.Marshal(p.Base)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, profileFile), profile); err != nil {
		return err
	}
	saving := *p
	saving.Schema = planSchema
	return file.WriteJSON(filepath.Join(dir, planFile), &saving)
}

func loadPlan(dir string) (*Plan, error) {
	path := filepath.Join(dir, planFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("loading a sweep: %w", err)
	}
	base := profiles.Default() // an earlier version's plan lacks newer fields
	p := Plan{Base: &base}
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	if p.Schema != planSchema {
		return nil, fmt.Errorf("loading %s: its schema is %q, this version reads %q: use the version of xdsbench that wrote it", path, p.Schema, planSchema)
	}
	if p.Base == nil {
		return nil, fmt.Errorf("loading %s: it has no base profile: the file is damaged", path)
	}
	for name, limit := range p.Base.SLO { // an earlier version's metrics may have other names
		if now, ok := result.RenamedMetric(name); ok {
			delete(p.Base.SLO, name)
			p.Base.SLO[now] = limit
		}
	}
	return &p, nil
}

// leaves flattens a plan to its plain values by field.
func leaves(p *Plan) map[string]string {
	out := make(map[string]string)
	var order []string
	for _, v := range p.Vary {
		out["--vary "+v.Field] = v.String()
		order = append(order, v.Field)
	}
	out["order of --vary"] = strings.Join(order, " ") // the folders' names have it
	out["--repeat"] = strconv.Itoa(p.Repeat)
	out["--kubeconfig"], out["--context"] = p.Kubeconfig, p.Context
	var base map[string]string
	data, err := json.Marshal(p.Base)
	if err == nil {
		base, err = experiment.Leaves(data)
	}
	if err != nil {
		out["profile"] = err.Error()
	}
	for path, value := range base {
		out["profile."+path] = value
	}
	return out
}

// writeFailure keeps the reason why a run failed, for the reports.
func writeFailure(dir string, reason error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, failureFile), []byte(reason.Error()+"\n"))
}

// failure returns why the run in a folder failed; empty if it did not.
func failure(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, failureFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func writeFile(path string, data []byte) error {
	return file.Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
