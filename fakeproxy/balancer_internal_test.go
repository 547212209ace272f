package fakeproxy

import (
	"slices"
	"testing"
)

// drawn picks n times and counts the addresses.
func drawn(b *balancer, n int) []int {
	counts := make([]int, b.addresses)
	for range n {
		counts[b.pick()]++
	}
	return counts
}

func TestEachOfferedAddressIsChosenInTurnOrAtRandom(t *testing.T) {
	const addresses = 3
	turn, firsts := newBalancer(addresses, false, 1), map[int]bool{}
	for range 50 {
		round := []int{turn.pick(), turn.pick(), turn.pick()}
		firsts[round[0]] = true
		slices.Sort(round)
		if !slices.Equal(round, []int{0, 1, 2}) {
			t.Fatalf("a round takes %v", round)
		}
	}
	if len(firsts) != 3 {
		t.Errorf("all rounds begin with %v", firsts)
	}
	for _, random := range []bool{false, true} {
		b := newBalancer(addresses, random, 1)
		b.offer(1, false)
		b.offer(1, false) // a second time does nothing
		if got := drawn(b, 100); got[1] != 0 || got[0] < 25 || got[2] < 25 {
			t.Errorf("random %t: chosen %v, want none of the one withdrawn", random, got)
		}
		b.offer(0, false)
		b.offer(2, false)
		if got := drawn(b, 300); slices.Min(got) < 50 {
			t.Errorf("random %t: chosen %v, want any with all withdrawn", random, got)
		}
		b.offer(0, true)
		if got := drawn(b, 10); got[0] != 10 {
			t.Errorf("random %t: chosen %v, want the only one offered", random, got)
		}
	}
}
