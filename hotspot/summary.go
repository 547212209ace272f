package hotspot

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/google/pprof/profile"
)

// topFunctions is how many functions a summary names.
const topFunctions = 10

// Summary says what a profile holds.
type Summary struct {
	// Sample and Unit say what Total counts, such as "cpu" in "nanoseconds".
	Sample, Unit string
	Total        int64
	// Parts is each part's share of Total, from 0 to 1; parts without one are left
	// out. They add up to 1.
	Parts map[string]float64
	// Top are the functions with the largest shares of their own, callees left out.
	Top []Function
}

// Function is one function's own share.
type Function struct {
	Name string
	// Part is where most of its share belongs.
	Part  string
	Share float64
}

// Summarise sums up a profile in pprof's format, gzipped or not. Kind is that of
// net/http/pprof: "cpu", "heap" (memory in use), "allocs" (memory allocated),
// "mutex", "block" (time waited) or "goroutine" (their number).
//
// Each sample belongs to one part, found by its stack: first by frames that own
// all that they call, such as the garbage collector's workers; otherwise by the
// innermost frame that the table knows. So what EDS generation spends in
// protobuf counts as protobuf, and what it spends in the memory allocator or in
// sorting counts as EDS generation. Stacks that hold nothing but runtime
// functions count as the scheduler's.
func Summarise(data []byte, kind string) (*Summary, error) {
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%s profile: %w", kind, err)
	}
	return summarise(p, kind)
}

// SummariseGrowth sums up what a profile that only grows, such as "allocs", has
// grown by between two snapshots.
func SummariseGrowth(before, after []byte, kind string) (*Summary, error) {
	base, err := profile.ParseData(before)
	if err != nil {
		return nil, fmt.Errorf("first %s profile: %w", kind, err)
	}
	p, err := profile.ParseData(after)
	if err != nil {
		return nil, fmt.Errorf("second %s profile: %w", kind, err)
	}
	base.Scale(-1)
	grown, err := profile.Merge([]*profile.Profile{base, p})
	if err != nil {
		return nil, fmt.Errorf("difference of %s profiles: %w", kind, err)
	}
	return summarise(grown, kind)
}

func summarise(p *profile.Profile, kind string) (*Summary, error) {
	index, err := sampleIndex(p, kind)
	if err != nil {
		return nil, err
	}
	s := &Summary{Sample: p.SampleType[index].Type, Unit: p.SampleType[index].Unit, Parts: make(map[string]float64)}
	parts := make(map[string]int64)
	functions := make(map[string]map[string]int64) // own values by part
	c := newClassifier()
	for _, sample := range p.Sample {
		value := sample.Value[index]
		stack := frames(sample)
		if value == 0 || len(stack) == 0 {
			continue
		}
		part := c.part(stack)
		s.Total += value
		parts[part] += value
		own := functions[stack[0].function]
		if own == nil {
			own = make(map[string]int64)
			functions[stack[0].function] = own
		}
		own[part] += value
	}
	if s.Total <= 0 {
		return s, nil
	}
	for part, value := range parts {
		s.Parts[part] = float64(value) / float64(s.Total)
	}
	s.addTop(functions)
	return s, nil
}

// sampleIndex returns which of a profile's values to sum.
func sampleIndex(p *profile.Profile, kind string) (int, error) {
	wanted, ok := map[string]string{
		"cpu": "cpu", "heap": "inuse_space", "allocs": "alloc_space",
		"mutex": "delay", "block": "delay", "goroutine": "goroutine",
	}[kind]
	if !ok {
		return 0, fmt.Errorf("%s profile: there is no summary of this kind", kind)
	}
	for i, t := range p.SampleType {
		if t.Type == wanted {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s profile: it holds no samples of type %q", kind, wanted)
}

// frames returns a sample's stack, innermost first, inlined calls included.
func frames(s *profile.Sample) []frame {
	var stack []frame
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil {
				stack = append(stack, frame{line.Function.Name, line.Function.Filename})
			}
		}
	}
	return stack
}

func (s *Summary) addTop(functions map[string]map[string]int64) {
	for name, own := range functions {
		var sum int64
		for _, value := range own {
			sum += value
		}
		// Sorted, so that what is equal does not depend on the map's order.
		part := slices.MaxFunc(slices.Sorted(maps.Keys(own)), func(a, b string) int { return cmp.Compare(own[a], own[b]) })
		s.Top = append(s.Top, Function{Name: name, Part: part, Share: float64(sum) / float64(s.Total)})
	}
	slices.SortFunc(s.Top, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name))
	})
	s.Top = s.Top[:min(len(s.Top), topFunctions)]
}
