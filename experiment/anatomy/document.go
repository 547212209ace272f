package anatomy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result/effect"
)

// note explains the table once.
const note = "Of each kind, per change: what SotW / Delta proxies were sent (one figure where both are alike), " +
	"and the control plane's processor time and allocations beyond idle, for all proxies together. " +
	"Proxies is how many one write reached, full the share of pushes with more than endpoints, " +
	"amplification the bytes sent over those of resources that were new to the proxy; " +
	"p50 is over all deliveries, last the median over the writes of the last proxy, both from scheduled and with the debounce in them."

// Document puts the anatomy in words. dir, where it is saved, is named at the end unless
// it is empty.
func (a *Anatomy) Document(dir string) *doc.Document {
	d := &doc.Document{Title: "anatomy", Headline: a.headline()}
	if a.Partial {
		d.Verdict, d.VerdictStyle = "PARTIAL", doc.Warn
	}
	facts := d.Section("")
	facts.Pair("Target", strings.TrimSuffix(a.Target+", version "+a.Version, ", version "))
	facts.Pair("Proxies", fmt.Sprintf("%s (%s)", listed(a.Proxies), listed(a.ByVariant)))
	if i := a.Idle; i != nil {
		text := units.Duration(i.Cores) + " of CPU"
		if n := i.AllocatedBytesPerSecond; n != nil {
			text += ", " + units.Bytes(*n) + " allocated"
		}
		facts.Pair("Idle, per second", text)
	}
	s := d.Section("Kinds of change")
	t := s.Table().Left("kind of change").Right("writes").Left("types", "full").
		Right("proxies", "responses", "resources", "bytes", "amplification", "CPU", "allocated", "p50", "last proxy", "undelivered")
	for i := range a.Kinds {
		a.Kinds[i].row(t)
	}
	s.Paragraph(note)
	skipped := d.Section("Not made").Table().Left("kind of change", "why")
	for _, k := range a.Skipped {
		skipped.Row(k.Kind, k.Reason)
	}
	notes := d.Section("Notes")
	for _, w := range a.Warnings {
		notes.Pair("Warning", w)
	}
	d.Section("").Pair("Files", dir)
	return d
}

func (a *Anatomy) headline() string {
	return fmt.Sprintf("%s of change, each %s", units.Plural(len(a.Kinds), "kind", "kinds"), units.Plural(a.Repeat, "time", "times"))
}

func listed(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, units.Count(counts[name])+" "+name)
	}
	return strings.Join(parts, ", ")
}

// row adds the kind to the table.
func (k *Kind) row(t *doc.Table) {
	n := float64(max(k.Operations, 1))
	per := func(figure func(e *effect.Effect) string) string { return k.beside(figure) }
	undelivered := ""
	if k.Undelivered > 0 {
		undelivered = units.Count(k.Undelivered)
	}
	t.Row(k.Name, units.Number(float64(k.Applied)/n),
		per(types), per(full),
		per(func(e *effect.Effect) string { return units.Count(e.ProxiesReached) }),
		per(func(e *effect.Effect) string { return units.Number(float64(e.Total().Responses) / n) }),
		per(func(e *effect.Effect) string { return units.Number(float64(e.Total().Resources+e.Total().Removed) / n) }),
		per(func(e *effect.Effect) string { return units.Bytes(float64(e.Total().Bytes) / n) }),
		per(func(e *effect.Effect) string { return amount(e.Amplification, "") }),
		amount(k.cpu(), "s"), amount(k.allocated(), "bytes"),
		per(func(e *effect.Effect) string { return amount(e.P50, "s") }),
		per(func(e *effect.Effect) string { return amount(e.Last, "s") }),
		undelivered)
}

// beside writes a figure of SotW and of Delta beside each other; one where both are the
// same, or there is but one variant.
func (k *Kind) beside(figure func(*effect.Effect) string) string {
	var parts []string
	for _, variant := range []string{"sotw", "delta"} {
		if e := k.ByVariant[variant]; e != nil {
			parts = append(parts, figure(e))
		}
	}
	if len(slices.Compact(slices.Clone(parts))) == 1 {
		return parts[0]
	}
	for i := range parts {
		if parts[i] == "" {
			parts[i] = "–"
		}
	}
	return strings.Join(parts, " / ")
}

func types(e *effect.Effect) string {
	return strings.Join(slices.Sorted(maps.Keys(e.Types)), " ")
}

func full(e *effect.Effect) string {
	switch {
	case len(e.Types) == 0:
		return ""
	case e.FullShare == 1:
		return "full"
	case e.FullShare == 0:
		return "no"
	}
	return units.Percent(e.FullShare)
}

// cpu is the processor time of one change beyond idle, in seconds; nil if it is not known.
func (k *Kind) cpu() *float64 {
	if k.Cost == nil {
		return nil
	}
	return k.each(k.Cost.NetCPUSeconds)
}

// allocated is the same of bytes.
func (k *Kind) allocated() *float64 {
	if k.Cost == nil {
		return nil
	}
	return k.each(k.Cost.NetAllocatedBytes)
}

func (k *Kind) each(n *float64) *float64 {
	if n == nil || k.Operations == 0 {
		return nil
	}
	return new(*n / float64(k.Operations))
}

func amount(n *float64, unit string) string {
	if n == nil {
		return ""
	}
	return units.Amount(*n, unit)
}
