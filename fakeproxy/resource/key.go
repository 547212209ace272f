package resource

import (
	"github.com/zeebo/xxh3"

	"github.com/xdsbench/xdsbench/event/xds"
)

// Key identifies content: a 128-bit hash, or a sum of such hashes. A sum does
// not depend on order and tells multisets apart.
type Key struct{ hi, lo uint64 }

func hashBytes(b []byte) Key {
	h := xxh3.Hash128(b)
	return Key{h.Hi, h.Lo}
}

func hashString(s string) Key {
	h := xxh3.HashString128(s)
	return Key{h.Hi, h.Lo}
}

// plus adds lane by lane: independent uniform sums, which is all that is needed.
func (k Key) plus(o Key) Key { return Key{k.hi + o.hi, k.lo + o.lo} }

// tagged sets equal bytes of different meaning apart: meaning is a small number.
func (k Key) tagged(meaning uint64) Key {
	const odd = 0x9e3779b97f4a7c15
	return Key{k.hi ^ (meaning+1)*odd, k.lo}
}

func (k Key) shard() uint64 { return k.hi ^ k.lo }

// meanings of hashed bytes.
func resourceMeaning(t xds.Type, v xds.Variant) uint64 { return uint64(t)<<1 | uint64(v) }

const (
	removedMeaning = 1 << 32
	rewarmMeaning  = 1 << 33
)
