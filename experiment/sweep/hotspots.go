package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/xdsbench/xdsbench/internal/file"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// profilesDir is the folder of merged profiles.
const profilesDir = "pprof"

// Hotspots is where a setting's cost is, by one kind of pprof profile of the control
// plane, over all repeats.
type Hotspots struct {
	// Kind is "cpu", "heap", "allocs", "mutex", "block" or "goroutine".
	Kind string `json:"kind"`
	// File is the merged profile, within the sweep's folder; empty for "allocs",
	// which is part of the file of the heap.
	File string `json:"file,omitempty"`
	Runs int    `json:"runs"`
	// Seconds is how long each run was observed, on average; 0 is a snapshot.
	Seconds float64 `json:"seconds,omitempty"`
	// Unit of Total and of amounts: "s" for processor time and waits, "bytes", or
	// empty for counts.
	Unit string `json:"unit,omitempty"`
	// Total and Parts are means over the repeats.
	Total float64         `json:"total"`
	Parts map[string]Part `json:"parts"`
}

// Part is one part of the control plane's work: its share of the total, from 0 to
// 1, and its amount, such as processor seconds within the time observed.
type Part struct {
	Share  float64 `json:"share"`
	Amount float64 `json:"amount"`
}

// hotspots averages the profiles of a setting's runs by kind.
func hotspots(id string, results []*result.Result) []Hotspots {
	byKind := make(map[string][]observed.ProfileSummary)
	for _, r := range results {
		if r.ControlPlane == nil {
			continue
		}
		for _, p := range r.ControlPlane.Profiles {
			if len(p.Parts) > 0 {
				byKind[p.Kind] = append(byKind[p.Kind], p)
			}
		}
	}
	var all []Hotspots
	for _, kind := range sortedKeys(byKind) {
		h := average(kind, byKind[kind])
		if kind != "allocs" {
			h.File = path.Join(profilesDir, id+"-"+kind+".pb.gz")
		}
		all = append(all, h)
	}
	return all
}

func average(kind string, profiles []observed.ProfileSummary) Hotspots {
	h := Hotspots{Kind: kind, Runs: len(profiles), Parts: make(map[string]Part)}
	n := float64(len(profiles))
	for _, p := range profiles {
		total := float64(p.Total)
		switch p.Unit {
		case "nanoseconds":
			total, h.Unit = total*1e-9, "s"
		case "bytes":
			h.Unit = "bytes"
		}
		h.Total += total / n
		h.Seconds += p.Seconds / n
		for name, share := range p.Parts {
			part := h.Parts[name]
			h.Parts[name] = Part{Share: part.Share + share/n, Amount: part.Amount + share*total/n}
		}
	}
	return h
}

// mergeProfiles writes each setting's profiles, merged over its finished runs.
func (r *Report) mergeProfiles(dir string) error {
	var errs []error
	for i := range r.Settings {
		o := &r.Settings[i]
		for _, h := range o.Profiles {
			if h.File != "" {
				errs = append(errs, o.mergeProfile(dir, &h))
			}
		}
	}
	return errors.Join(errs...)
}

func (o *Outcome) mergeProfile(dir string, h *Hotspots) error {
	var all []*profile.Profile
	for _, run := range o.Runs {
		path := filepath.Join(dir, run.Dir, profilesDir, h.Kind+".pb.gz")
		data, err := os.ReadFile(path)
		if run.State != finished || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("merging profiles: %w", err)
		}
		p, err := profile.ParseData(data)
		if err != nil {
			return fmt.Errorf("merging profiles: %s: %w", path, err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil
	}
	to := filepath.Join(dir, h.File)
	merged, err := profile.Merge(all)
	if err != nil {
		return fmt.Errorf("merging profiles into %s: %w", to, err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return file.Write(to, merged.Write)
}

// contrast is the parts of two settings' processor time side by side.
type contrast struct {
	from, to    *Outcome
	a, b        Hotspots
	parts       []string // those that differ most first
	diffCommand string   // shows the difference by function
}

// fewSamples is the processor time, at pprof's 100 samples a second, below which
// shares of it say little.
const fewSamples = 1.0

// caveat is empty if the profiles hold enough.
func (c *contrast) caveat() string {
	if least := min(c.a.Total*float64(c.a.Runs), c.b.Total*float64(c.b.Runs)); least < fewSamples {
		return fmt.Sprintf("Few samples: %.0f in one of the two. Use a longer pprof.cpu, or more load.", 100*least)
	}
	if c.a.Runs != c.b.Runs {
		return fmt.Sprintf("The merged profiles are sums over %d and %d runs: read their shares, not their amounts.", c.a.Runs, c.b.Runs)
	}
	return ""
}

// contrasted returns the two ends of the front, or the cheapest and the most expensive
// setting where the front has one point; nil without processor profiles of both.
func (r *Report) contrasted(dir string) *contrast {
	var profiled []*Outcome
	for i := range r.Settings {
		if o := &r.Settings[i]; o.comparable() && o.cpuProfile() != nil {
			profiled = append(profiled, o)
		}
	}
	if len(profiled) < 2 {
		return nil
	}
	slices.SortStableFunc(profiled, byCPU)
	c := &contrast{from: profiled[0], to: profiled[len(profiled)-1]}
	if n := len(r.Front); n > 1 {
		first, last := r.find(r.Front[0]), r.find(r.Front[n-1])
		if first.cpuProfile() != nil && last.cpuProfile() != nil {
			c.from, c.to = first, last
		}
	}
	c.a, c.b = *c.from.cpuProfile(), *c.to.cpuProfile()
	both := maps.Clone(c.a.Parts)
	maps.Copy(both, c.b.Parts)
	c.parts = slices.SortedFunc(maps.Keys(both), func(x, y string) int {
		return cmp.Or(cmp.Compare(c.difference(y), c.difference(x)), strings.Compare(x, y))
	})
	c.diffCommand = fmt.Sprintf("go tool pprof -diff_base %s %s", quote(filepath.Join(dir, c.a.File)), quote(filepath.Join(dir, c.b.File)))
	return c
}

func (c *contrast) difference(part string) float64 {
	return math.Abs(c.a.Parts[part].Amount - c.b.Parts[part].Amount)
}

// cpuProfile returns the setting's processor profile; nil if there is none.
func (o *Outcome) cpuProfile() *Hotspots {
	for i := range o.Profiles {
		if o.Profiles[i].Kind == "cpu" {
			return &o.Profiles[i]
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
