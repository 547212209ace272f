package controlplane

import (
	"maps"
	"time"
)

// serviceKey names a Kubernetes service.
type serviceKey struct{ namespace, name string }

// Reasons of a push, as istiod labels pilot_push_triggers.
const (
	reasonEndpoint = "endpoint"
	reasonService  = "service"
	reasonProxy    = "proxy"
	reasonGlobal   = "global"
)

// update says what changed in the model. It is not altered once sent.
type update struct {
	full      bool                    // proxies need more than EDS
	services  map[serviceKey]struct{} // definitions that changed, appeared or went
	endpoints map[serviceKey]struct{} // services whose endpoints changed
	reasons   map[string]int
}

func endpointUpdate(reason string, keys ...serviceKey) *update {
	return &update{endpoints: setOf(keys...), reasons: map[string]int{reason: 1}}
}

func serviceUpdate(reason string, keys ...serviceKey) *update {
	return &update{full: true, services: setOf(keys...), reasons: map[string]int{reason: 1}}
}

// merge returns an update that stands for both; it is full if either is.
func (u *update) merge(other *update) *update {
	return &update{
		full:      u.full || other.full,
		services:  union(u.services, other.services),
		endpoints: union(u.endpoints, other.endpoints),
		reasons:   sum(u.reasons, other.reasons),
	}
}

// pushRequest is what one push owes to a proxy. Proxies share it, so it is not
// altered once queued; merging makes a new one.
type pushRequest struct {
	full    bool
	start   time.Time // when the oldest push in it entered the queue
	reasons map[string]int

	clusters  map[string]struct{} // CDS names of changed services, present or gone
	endpoints map[string]struct{} // EDS names to send to their subscribers
	listeners map[string]struct{} // LDS names that went away
}

// merge returns a request that stands for both. It keeps the older start, so
// that queue and convergence times count from the first change that waited.
func (p *pushRequest) merge(newer *pushRequest) *pushRequest {
	return &pushRequest{
		full:      p.full || newer.full,
		start:     p.start,
		reasons:   sum(p.reasons, newer.reasons),
		clusters:  union(p.clusters, newer.clusters),
		endpoints: union(p.endpoints, newer.endpoints),
		listeners: union(p.listeners, newer.listeners),
	}
}

func setOf[K comparable](keys ...K) map[K]struct{} {
	set := make(map[K]struct{}, len(keys))
	for _, key := range keys {
		set[key] = struct{}{}
	}
	return set
}

func union[K comparable](a, b map[K]struct{}) map[K]struct{} {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func sum(a, b map[string]int) map[string]int {
	out := maps.Clone(a)
	if out == nil {
		out = make(map[string]int, len(b))
	}
	for reason, n := range b {
		out[reason] += n
	}
	return out
}
