package anatomy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result/effect"
)

// What differences of two anatomies are told from noise by.
const (
	// cpuNoise, of either figure, and cpuFloor, in seconds per change, are exceeded by
	// what the processor times of a control plane differ in; allocations are steadier.
	cpuNoise, cpuFloor             = 0.5, 6e-3
	allocatedNoise, allocatedFloor = 0.3, 500e3
	// bytesNoise is how far bytes may differ that are the same: names and addresses of
	// different lengths.
	bytesNoise = 0.02
	// latencyNoise is of medians, where the latencies do not overlap.
	latencyNoise = 0.1
)

// Difference is one figure in which two anatomies differ.
type Difference struct {
	Kind string `json:"kind"`
	// Figure is such as "sotw types" or "cpu".
	Figure string `json:"figure"`
	Old    string `json:"old"`
	New    string `json:"new"`
}

// Comparison is how two anatomies differ.
type Comparison struct {
	Old         string       `json:"old"`
	New         string       `json:"new"`
	Compared    int          `json:"compared"`
	Differences []Difference `json:"differences"`
	// Warnings say why figures may differ other than by the control plane.
	Warnings []string `json:"warnings,omitempty"`
}

// Compare lists what differs: counts exactly, sizes, processor times, allocations and
// latencies beyond their noise.
func Compare(old, now *Anatomy) *Comparison {
	c := &Comparison{Old: old.name(), New: now.name(), Differences: []Difference{}}
	if !maps.Equal(old.Proxies, now.Proxies) || !maps.Equal(old.ByVariant, now.ByVariant) {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the fleets differ: %s and %s", listed(old.Proxies), listed(now.Proxies)))
	}
	if old.Partial || now.Partial {
		c.Warnings = append(c.Warnings, "one of the two was interrupted")
	}
	for i := range old.Kinds {
		was := &old.Kinds[i]
		is := now.kind(was.Name)
		if is == nil {
			c.add(was.Name, "made", "yes", now.absent(was.Name))
			continue
		}
		c.Compared++
		c.compareKind(was, is)
	}
	for i := range now.Kinds {
		if name := now.Kinds[i].Name; old.kind(name) == nil {
			c.add(name, "made", old.absent(name), "yes")
		}
	}
	return c
}

func (a *Anatomy) name() string {
	return strings.TrimSuffix(a.Target+" "+a.Version, " ")
}

func (a *Anatomy) kind(name string) *Kind {
	i := slices.IndexFunc(a.Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return &a.Kinds[i]
}

// absent says why a kind is not among those made.
func (a *Anatomy) absent(name string) string {
	for _, s := range a.Skipped {
		if s.Kind == name {
			return "no: " + s.Reason
		}
	}
	return "no"
}

func (c *Comparison) add(kind, figure, old, now string) {
	if old != now {
		c.Differences = append(c.Differences, Difference{kind, figure, old, now})
	}
}

func (c *Comparison) compareKind(old, now *Kind) {
	for _, variant := range slices.Sorted(maps.Keys(old.ByVariant)) {
		was, is := old.ByVariant[variant], now.ByVariant[variant]
		if is == nil {
			is = &effect.Effect{}
		}
		add := func(figure string, of func(k *Kind, e *effect.Effect) string) {
			c.add(old.Name, variant+" "+figure, of(old, was), of(now, is))
		}
		add("types", func(_ *Kind, e *effect.Effect) string { return types(e) })
		add("full", func(_ *Kind, e *effect.Effect) string { return full(e) })
		add("proxies", func(_ *Kind, e *effect.Effect) string { return units.Count(e.ProxiesReached) })
		add("responses", func(k *Kind, e *effect.Effect) string {
			return units.Number(float64(e.Total().Responses) / float64(max(k.Operations, 1)))
		})
		add("resources", func(k *Kind, e *effect.Effect) string {
			return units.Number(float64(e.Total().Resources+e.Total().Removed) / float64(max(k.Operations, 1)))
		})
		c.beyond(old.Name, variant+" bytes", old.each(new(float64(was.Total().Bytes))), now.each(new(float64(is.Total().Bytes))), "bytes", bytesNoise, 0)
	}
	c.beyond(old.Name, "CPU", old.cpu(), now.cpu(), "s", cpuNoise, cpuFloor)
	c.beyond(old.Name, "allocated", old.allocated(), now.allocated(), "bytes", allocatedNoise, allocatedFloor)
	if apart(old.Lasts, now.Lasts) {
		c.beyond(old.Name, "last proxy", old.Last, now.Last, "s", latencyNoise, 0)
	}
	c.add(old.Name, "undelivered", units.Count(old.Undelivered), units.Count(now.Undelivered))
}

// beyond adds two figures if they differ by more than a share of the larger and a floor.
func (c *Comparison) beyond(kind, figure string, old, now *float64, unit string, noise, floor float64) {
	if old == nil || now == nil {
		return
	}
	if by := math.Abs(*old - *now); by > noise*max(math.Abs(*old), math.Abs(*now)) && by > floor {
		c.add(kind, figure, units.Amount(*old, unit), units.Amount(*now, unit))
	}
}

// apart reports whether all of one are below all of the other. Both are sorted.
func apart(a, b []float64) bool {
	return len(a) > 0 && len(b) > 0 && (a[len(a)-1] < b[0] || b[len(b)-1] < a[0])
}

// Document puts the comparison in words.
func (c *Comparison) Document() *doc.Document {
	d := &doc.Document{
		Title: "anatomies", Verdict: "ALIKE", VerdictStyle: doc.Good,
		Headline: units.Plural(c.Compared, "kind", "kinds") + " of change compared: nothing differs beyond noise",
	}
	if n := len(c.Differences); n > 0 {
		d.Verdict, d.VerdictStyle = "DIFFERENT", doc.Warn
		d.Headline = fmt.Sprintf("%s of change compared: %s", units.Plural(c.Compared, "kind", "kinds"), units.Plural(n, "difference", "differences"))
	}
	s := d.Section("")
	s.Pair("Old", c.Old)
	s.Pair("New", c.New)
	t := d.Section("Per change").Table().Left("kind of change", "figure", "old", "new")
	for _, x := range c.Differences {
		t.Row(x.Kind, x.Figure, orNothing(x.Old), orNothing(x.New))
	}
	notes := d.Section("Notes")
	for _, w := range c.Warnings {
		notes.Pair("Warning", w)
	}
	return d
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}
