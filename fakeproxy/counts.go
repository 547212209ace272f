package fakeproxy

import "sync/atomic"

// Counts is how a fleet is doing.
type Counts struct {
	// Connected and Ready are how many proxies are so now; the rest are totals.
	Connected int64 `json:"connected"`
	Ready     int64 `json:"ready"`

	Reconnects   int64 `json:"reconnects"`
	Refused      int64 `json:"refused"`
	Disconnected int64 `json:"disconnected"`
	// ResourceExhausted counts streams that ended with that status, by the
	// server's limits or by maxReceiveBytes. They are among the two above.
	ResourceExhausted int64 `json:"resourceExhausted"`

	Responses     int64 `json:"responses"`
	Acks          int64 `json:"acks"`
	Nacks         int64 `json:"nacks"`
	NacksInjected int64 `json:"nacksInjected"`
	// NacksRepeated counts NACKs of the very payload that the proxy rejected
	// just before: a control plane in a NACK loop.
	NacksRepeated int64 `json:"nacksRepeated"`
	// Unstamped counts responses without the kernel's time of their arrival
	// (event.Response.Socket). Where they are more than the very first, nobody can
	// tell how long responses waited for this process: it may have been the
	// bottleneck. Unix sockets have no such times.
	Unstamped int64 `json:"unstamped"`
	// OutOfOrder counts resources that nothing had subscribed to; UnknownType
	// responses of a type that was never asked for.
	OutOfOrder  int64 `json:"outOfOrder"`
	UnknownType int64 `json:"unknownType"`
	// FetchTimeouts counts children that did not arrive in time.
	FetchTimeouts int64 `json:"fetchTimeouts"`

	// AppliesDelayed counts responses whose answer waited for applyDelay.
	AppliesDelayed int64 `json:"appliesDelayed"`
	// SlowReaders is how many proxies read slowly, SlowReads how often one of
	// them left its socket unread for a while.
	SlowReaders int64 `json:"slowReaders"`
	SlowReads   int64 `json:"slowReads"`
	// DisconnectsInjected counts streams broken by disconnects, StormDisconnects
	// those broken by one of the Storms. DisconnectsMissed would have been
	// either, but the proxy had no stream then.
	DisconnectsInjected int64 `json:"disconnectsInjected"`
	Storms              int64 `json:"storms"`
	StormDisconnects    int64 `json:"stormDisconnects"`
	DisconnectsMissed   int64 `json:"disconnectsMissed"`
	// HalfOpen counts connections left open and unread for ever.
	HalfOpen int64 `json:"halfOpen"`

	Requests        int64 `json:"requests"`
	MaxRequestBytes int64 `json:"maxRequestBytes"`
}

type counters struct {
	connected, ready                                     atomic.Int64
	reconnects, refused, disconnected, exhausted         atomic.Int64
	responses, acks, nacks, injected, repeated           atomic.Int64
	outOfOrder, unknown, expired, requests, maxRequest   atomic.Int64
	unstamped, delayed, slowReaders, slowReads, halfOpen atomic.Int64
	dropped, storms, stormed, missed                     atomic.Int64
}

// Counts returns the present counts. It is cheap and takes no lock.
func (f *Fleet) Counts() Counts {
	c := &f.count
	return Counts{
		Connected: c.connected.Load(), Ready: c.ready.Load(),
		Reconnects: c.reconnects.Load(), Refused: c.refused.Load(),
		Disconnected: c.disconnected.Load(), ResourceExhausted: c.exhausted.Load(),
		Responses: c.responses.Load(), Unstamped: c.unstamped.Load(), Acks: c.acks.Load(), Nacks: c.nacks.Load(),
		NacksInjected: c.injected.Load(), NacksRepeated: c.repeated.Load(),
		OutOfOrder: c.outOfOrder.Load(), UnknownType: c.unknown.Load(), FetchTimeouts: c.expired.Load(),
		AppliesDelayed: c.delayed.Load(), SlowReaders: c.slowReaders.Load(), SlowReads: c.slowReads.Load(),
		DisconnectsInjected: c.dropped.Load(), Storms: c.storms.Load(), StormDisconnects: c.stormed.Load(),
		DisconnectsMissed: c.missed.Load(), HalfOpen: c.halfOpen.Load(),
		Requests: c.requests.Load(), MaxRequestBytes: c.maxRequest.Load(),
	}
}
