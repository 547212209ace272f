package event

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// Fingerprint identifies a set of usable endpoints, whatever their order: the
// sum, modulo 2^64, of EndpointHash over the set. The empty set is 0.
//
// An endpoint is usable when its health is HEALTHY, UNKNOWN or DEGRADED, so a
// terminating endpoint gives the same fingerprint whether a control plane
// drops it or sends it as UNHEALTHY or DRAINING.
type Fingerprint uint64

// EndpointHash hashes one endpoint: its address as text and its port.
func EndpointHash(address string, port uint32) uint64 {
	var buf [64]byte
	b := append(buf[:0], address...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint32(b, port)
	return xxh3.Hash(b)
}

// Add returns the fingerprint of the set with one more endpoint.
func (f Fingerprint) Add(endpoint uint64) Fingerprint { return f + Fingerprint(endpoint) }

// Remove returns the fingerprint of the set with one endpoint less.
func (f Fingerprint) Remove(endpoint uint64) Fingerprint { return f - Fingerprint(endpoint) }

// FingerprintOf sums the hashes of a set of endpoints.
func FingerprintOf(endpoints []uint64) Fingerprint {
	var f Fingerprint
	for _, e := range endpoints {
		f = f.Add(e)
	}
	return f
}
