package sweep

import (
	"cmp"
	"slices"
)

// front returns those of the settings that no other beats in both p99 latency and
// processor time, by their medians: at most equal in both, and less in one. The
// cheapest comes first.
func front(settings []*Outcome) []*Outcome {
	best := slices.DeleteFunc(slices.Clone(settings), func(o *Outcome) bool {
		return slices.ContainsFunc(settings, func(other *Outcome) bool { return other.beats(o) })
	})
	slices.SortStableFunc(best, byCPU)
	return best
}

func (o *Outcome) p99() Figure { return o.Figures[latencyP99] }
func (o *Outcome) cpu() Figure { return o.Figures[cpuSeconds] }

func byCPU(a, b *Outcome) int { return cmp.Compare(a.cpu().Median, b.cpu().Median) }

// comparable reports whether both figures of the front were measured.
func (o *Outcome) comparable() bool {
	_, latency := o.Figures[latencyP99]
	_, cpu := o.Figures[cpuSeconds]
	return latency && cpu
}

func (o *Outcome) beats(other *Outcome) bool {
	a, b := o.p99().Median, other.p99().Median
	c, d := o.cpu().Median, other.cpu().Median
	return a <= b && c <= d && (a < b || c < d)
}

// knee returns the point of a front that lies furthest below the straight line
// between its ends, both axes scaled to the front's extent: beyond it, more
// processor time buys less latency. (Satopää and others, Finding a "Kneedle" in a
// Haystack, ICDCS Workshops 2011.) It is nil for fewer than three points, or if no
// point lies below the line.
func knee(front []*Outcome) *Outcome {
	if len(front) < 3 {
		return nil
	}
	first, last := front[0], front[len(front)-1]
	width := last.cpu().Median - first.cpu().Median
	height := first.p99().Median - last.p99().Median
	var best *Outcome
	furthest := 0.0
	for _, o := range front[1 : len(front)-1] {
		x := (o.cpu().Median - first.cpu().Median) / width
		y := (o.p99().Median - last.p99().Median) / height
		if below := 1 - x - y; below > furthest {
			best, furthest = o, below
		}
	}
	return best
}
