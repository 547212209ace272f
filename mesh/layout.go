package mesh

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The streams of random numbers, each with its own use, so that a new use of
// one does not shift what another gives.
const (
	streamSizes    = 1
	streamHeadless = 2
	streamOddities = 3
)

// layout is what one service has at the start.
type layout struct {
	endpoints, ports int
	headless         bool
	class            int // its index; 0 if there are none
}

// layout returns what each service has.
func (s Spec) layout(seed uint64) []layout {
	var out []layout
	for i, c := range s.Classes {
		l := layout{endpoints: c.Endpoints, ports: cmp.Or(c.Ports, s.Ports), headless: c.Headless, class: i}
		out = append(out, slices.Repeat([]layout{l}, c.Services)...)
	}
	if len(s.Classes) > 0 {
		return out
	}
	sizes, headless := s.sizes(seed), s.headless(seed)
	for i := range s.Services {
		out = append(out, layout{endpoints: sizes[i], ports: s.Ports, headless: headless[i]})
	}
	return out
}

// sizes returns how many endpoints each service has. They add up to
// services*endpointsPerService whatever the distribution.
func (s Spec) sizes(seed uint64) []int {
	out := make([]int, s.Services)
	if s.Distribution != zipf {
		for i := range out {
			out[i] = s.EndpointsPerService
		}
		return out
	}
	ranks := rand.New(rand.NewPCG(seed, streamSizes)).Perm(s.Services)
	for i, n := range zipfSizes(s.Services, s.Services*s.EndpointsPerService) {
		out[ranks[i]] = n
	}
	return out
}

// zipfSizes splits total into parts of at least one, the rest in proportion to
// 1/rank, rounded by largest remainder so that the sum is kept.
func zipfSizes(parts, total int) []int {
	var harmonic float64
	for r := range parts {
		harmonic += 1 / float64(r+1)
	}
	out := make([]int, parts)
	remainders := make([]float64, parts)
	spare := total - parts
	left := spare
	for r := range parts {
		share := float64(spare) / float64(r+1) / harmonic
		whole := math.Floor(share)
		out[r] = 1 + int(whole)
		remainders[r] = share - whole
		left -= int(whole)
	}
	order := make([]int, parts)
	for r := range order {
		order[r] = r
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })
	for i := range left {
		out[order[i%parts]]++
	}
	return out
}

// headless returns which services are headless: the stated share of them,
// rounded, chosen by the seed.
func (s Spec) headless(seed uint64) []bool {
	out := make([]bool, s.Services)
	order := rand.New(rand.NewPCG(seed, streamHeadless)).Perm(s.Services)
	for _, i := range order[:s.numHeadless()] {
		out[i] = true
	}
	return out
}

func (s Spec) numHeadless() int { return int(math.Round(s.Headless * float64(s.Services))) }
