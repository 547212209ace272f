package fakeproxy

import (
	"github.com/zeebo/xxh3"

	"github.com/xdsbench/xdsbench/event/xds"
)

// key identifies content: a 128-bit hash, or a sum of such hashes. A sum does
// not depend on order and tells multisets apart.
type key struct{ hi, lo uint64 }

func hashBytes(b []byte) key {
	h := xxh3.Hash128(b)
	return key{h.Hi, h.Lo}
}

func hashString(s string) key {
	h := xxh3.HashString128(s)
	return key{h.Hi, h.Lo}
}

// plus adds lane by lane: independent uniform sums, which is all that is needed.
func (k key) plus(o key) key { return key{k.hi + o.hi, k.lo + o.lo} }

// mixed sets equal bytes of different meaning apart: meaning is a small number.
func (k key) mixed(meaning uint64) key {
	const odd = 0x9e3779b97f4a7c15
	return key{k.hi ^ (meaning+1)*odd, k.lo}
}

func (k key) shard() uint64 { return k.hi ^ k.lo }

// meanings of hashed bytes.
func resourceMeaning(t xds.Type, v xds.Variant) uint64 { return uint64(t)<<1 | uint64(v) }

const (
	removedMeaning = 1 << 32
	rewarmMeaning  = 1 << 33
)

// What a stepKey's op says beside the type: the variant of a response, or that
// names changed.
const (
	ofDelta  = 1 << 6
	renaming = 1 << 7
)
