package experiment

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// Runs makes the runs of an experiment, each in a folder of its own below Dir,
// and keeps those that an earlier process finished there.
type Runs struct {
	Dir string
	Run RunFunc
}

// Do returns the result of the run called name, a path below Dir. If its folder
// holds a finished result of the same profile, that is loaded, and kept is true.
// Anything else in the folder is removed, and the run is made. A run that failed
// or was cut short leaves nothing that a later Do takes for finished; its result,
// if there is one, comes back beside the error.
func (r *Runs) Do(ctx context.Context, name string, p *profiles.Profile, progress func(harness.Status)) (res *result.Result, kept bool, err error) {
	dir := filepath.Join(r.Dir, filepath.FromSlash(name))
	if finished, ok := Finished(dir, p); ok {
		return finished, true, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, false, fmt.Errorf("run %s: removing what an earlier one left: %w", name, err)
	}
	res, err = r.Run(ctx, p, dir, progress)
	if err == nil && res == nil {
		err = errors.New("no result")
	}
	if err == nil && res.Partial {
		err = errors.New("the run was cut short")
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}
	if err != nil {
		return res, false, errors.Join(fmt.Errorf("run %s: %w", name, err), invalidate(dir))
	}
	return res, false, nil
}

// invalidate removes the result of a run that failed, in case it was saved as
// finished. The other files stay, to look into.
func invalidate(dir string) error {
	r, err := result.Load(dir)
	if err != nil || r.Partial {
		return nil //nolint:nilerr // there is nothing that could be taken for finished.
	}
	return os.Remove(filepath.Join(dir, result.ResultFile))
}

// Finished loads the result in a folder if it is of this very profile and not
// partial.
func Finished(dir string, p *profiles.Profile) (*result.Result, bool) {
	r, err := result.Load(dir)
	if err != nil || r.Partial {
		return nil, false
	}
	saved := profiles.Default() // an earlier version's result lacks newer fields
	if err := json.Unmarshal(r.Profile, &saved); err != nil {
		return nil, false
	}
	observe.AddWork(r)
	a, errA := json.Marshal(&saved)
	b, errB := json.Marshal(p)
	return r, errA == nil && errB == nil && bytes.Equal(a, b)
}

// Questionable lists why no conclusion about the control plane should be drawn from a
// run, each with the verdict that it leads to before it; it is empty for a valid one. A
// missed SLO is a conclusion.
func Questionable(r *result.Result) []string {
	var reasons []string
	for _, f := range verdict.Findings(r) {
		if f.Verdict != verdict.SLOMissed {
			reasons = append(reasons, f.Verdict+": "+f.Reason)
		}
	}
	if p := r.Propagation; len(reasons) == 0 && (p == nil || p.Deliveries == 0) {
		reasons = append(reasons, "nothing was delivered")
	}
	return reasons
}

// Note is what to write beside a figure over several runs whose values have these
// notes, such as "max of 58 to 62"; empty if none has one.
func Note(notes []string) string {
	all := slices.DeleteFunc(slices.Clone(notes), func(n string) bool { return n == "" })
	if len(all) == 0 {
		return ""
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	low, high := all[0], all[len(all)-1]
	if low == high {
		return low
	}
	return low + " to " + high[strings.LastIndexByte(high, ' ')+1:]
}
