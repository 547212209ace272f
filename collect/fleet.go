package collect

import (
	"fmt"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result"
)

// inlineDone is how many mutations one event can complete without allocating.
const inlineDone = 16

// Response takes note of a response at a proxy. It keeps nothing of r.
func (c *Collector) Response(r *event.Response) {
	s := c.shardOf(r.Proxy)
	if s == nil {
		return
	}
	var buf [inlineDone]*mutation
	done := buf[:0]
	in := syncPhase
	if c.steady(r.Received) {
		in = steadyPhase
	}
	s.mu.Lock()
	if !s.closed {
		if len(s.byReplica) > 0 {
			s.proxy(r.Proxy).replica = c.cfg.ReplicaOf[r.Address]
		}
		s.countLocked(r, in)
		if in == steadyPhase && s.ready.has(r.Proxy-s.first) { // else it fetches what there is
			s.attributeLocked(r, c.causeOf(r.Received))
		}
		before := s.sums.delivered
		for i := range r.States {
			if cl := c.known.get(r.States[i].Type, r.States[i].Name); cl != nil {
				done = s.receiveLocked(done, cl, r.Proxy, r.States[i].State, r.Received, in)
			}
		}
		s.countPushLocked(r.Proxy, s.sums.delivered-before)
		c.completeLocked(s, r.Proxy, r.Received)
	}
	s.mu.Unlock()
	for _, m := range done {
		c.finalise(m)
	}
}

// countLocked counts the response's traffic, answer and stamps.
func (s *shard) countLocked(r *event.Response, in phase) {
	px := s.proxy(r.Proxy)
	typ := min(r.Type, xds.OtherType)
	t := &s.kinds[px.kind].traffic[in][min(r.Variant, xds.Delta)][typ]
	t.Responses++
	t.Resources += int64(r.Resources)
	t.Removed += int64(r.Removed)
	t.Bytes += int64(r.Bytes)
	s.duplicates[in] += int64(r.Duplicates)
	if r.Resources > 0 && r.Removed == 0 && r.ChangedBytes == 0 && !r.Nacked && r.Duplicates+r.OutOfOrder >= r.Resources {
		s.resent[in][typ]++
	}
	s.responses++
	s.outOfOrder += int64(r.OutOfOrder)
	px.arrived = r.Socket
	px.responses++
	px.bytes += int64(r.Bytes)
	// While a fleet syncs, messages wait for a processor; no latency depends on
	// their stamps.
	if in == steadyPhase && (r.Socket == 0 || s.stampLag.RecordValue(int64(r.Received.Sub(r.Socket))) != nil) {
		s.stampsBad++
	}
	if !r.Nacked {
		if r.Answered != 0 { // a type that was never asked for gets no answer
			s.acks++
			if in == steadyPhase {
				_ = s.answer.RecordValue(int64(r.Answered.Sub(r.Received))) // over an hour: no figure to keep
			}
		}
		px.nacked &^= 1 << typ
		return
	}
	px.nacks++
	s.nacksByType[typ]++
	s.nackReasons.count(r.Reason)
	if r.Injected {
		s.nacksInjected++
	} else {
		s.nacksInvalid++
	}
	if in == steadyPhase && px.nacked&(1<<typ) != 0 {
		s.nackLoops++
	}
	px.nacked |= 1 << typ
}

// Rejects reports whether proxy p's latest answer for type t was a NACK.
func (c *Collector) Rejects(p int, t xds.Type) bool {
	s := c.shardOf(p)
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proxy(p).nacked&(1<<t) != 0
}

// receiveLocked moves proxy p to a received state of cl and ends the pairs that
// have thereby arrived. It returns done with the mutations that this completed.
func (s *shard) receiveLocked(done []*mutation, cl *resource, p int, state event.Fingerprint, at event.Time, in phase) []*mutation {
	if cl.typ == xds.EDS {
		cl.subscribed.set(p)
	}
	history, held := *cl.history.Load(), cl.position(p)
	index, how := find(history, held, state, at)
	switch how {
	case forward:
	case recurring:
		s.recurred++
	case backward, unknown:
		if cl.baseline || held != nothing {
			s.unknownStateLocked(cl, p, state, at, in, how == backward)
			cl.astray.set(p)
		}
		return done
	}
	cl.astray.clear(p)
	if cl.counts(p) && held == nothing {
		s.proxy(p).shown++
	}
	return s.reachLocked(done, cl, p, index, at)
}

// reachLocked moves proxy p to a state of cl and ends the pairs that have thereby
// arrived.
func (s *shard) reachLocked(done []*mutation, cl *resource, p int, index int32, at event.Time) []*mutation {
	history, held := *cl.history.Load(), cl.position(p)
	cl.move(p, index)
	readyAt := s.proxy(p).readyAt
	for i := index; i > held && i >= 0; i-- {
		e := &history[i]
		if e.issued < readyAt {
			break // pairs are with mutations issued after the proxy became ready
		}
		if e.m == nil {
			continue
		}
		l := e.m.live.Load()
		if l == nil || !l.pending(s, p) {
			continue
		}
		if all, later := e.m.reached(p); all {
			done = appendDone(done, s.endLocked(e.m, p, delivered, at, later))
		}
	}
	return done
}

func (s *shard) unknownStateLocked(cl *resource, p int, state event.Fingerprint, at event.Time, in phase, older bool) {
	s.unknown[in]++
	if in != steadyPhase {
		return
	}
	if older {
		s.regressed++
	}
	if len(s.examples) >= maxExamples {
		return
	}
	example := result.UnknownState{
		Proxy: p, Cluster: cl.name, Received: fingerprintText(state), Regressed: older, At: at.Duration().Seconds(),
	}
	if held := cl.position(p); held != nothing {
		example.Held = fingerprintText((*cl.history.Load())[held].state)
	}
	s.examples = append(s.examples, example)
}

func fingerprintText(f event.Fingerprint) string { return fmt.Sprintf("%016x", uint64(f)) }

func appendDone(done []*mutation, m *mutation) []*mutation {
	if m == nil {
		return done
	}
	return append(done, m)
}

// Proxy takes note of a change in a proxy's life. It keeps nothing of e.
func (c *Collector) Proxy(e *event.ProxyEvent) {
	s := c.shardOf(e.Proxy)
	if s == nil {
		return
	}
	if e.Kind == event.Subscribed {
		c.known.subscribed(e.Clusters)
	}
	s.mu.Lock()
	var done []*mutation
	if !s.closed {
		done = c.proxyLocked(s, e)
	}
	s.mu.Unlock()
	for _, m := range done {
		c.finalise(m)
	}
}

func (c *Collector) proxyLocked(s *shard, e *event.ProxyEvent) []*mutation {
	px := s.proxy(e.Proxy)
	switch e.Kind {
	case event.Connected:
		px.wasConnected = true
		s.connectLocked(px, true)
	case event.Ready:
		c.readyLocked(s, px, e)
	case event.Disconnected:
		s.failures.add(e.Err)
		s.disconnects++
		px.disconnects++
		return c.leaveLocked(s, e.Proxy, interrupted, e.At)
	case event.Refused:
		s.failures.add(e.Err)
		s.refused++
		px.refused++
		if px.connected {
			return c.leaveLocked(s, e.Proxy, interrupted, e.At)
		}
	case event.Retired:
		px.retired = true
		return c.leaveLocked(s, e.Proxy, retired, e.At)
	case event.Subscribed:
		for _, name := range e.Clusters {
			c.known.get(xds.EDS, name).subscribed.set(e.Proxy)
		}
	case event.Unsubscribed:
		return c.unsubscribeLocked(s, e)
	}
	return nil
}

func (s *shard) connectLocked(px *proxy, connected bool) {
	if px.connected == connected {
		return
	}
	px.connected = connected
	if connected {
		s.connected++
	} else {
		s.connected--
	}
}

func (c *Collector) readyLocked(s *shard, px *proxy, e *event.ProxyEvent) {
	s.ready.set(e.Proxy - s.first)
	px.readyAt = e.At
	s.lastReady = max(s.lastReady, e.At)
	if px.wasReady {
		_ = s.again.RecordValue(int64(e.Since)) // over an hour: no figure to keep
		kind := &s.kinds[px.kind]
		if kind.again == nil {
			kind.again = newPacked(timeUnit, maxTime)
		}
		_ = kind.again.RecordValue(int64(e.Since))
		return
	}
	px.wasReady = true
	px.timeToReady = e.Since
	if due, ok := c.dueLocked(s, e.Proxy); ok {
		px.timeToReady = e.At.Sub(due)
	}
	times := s.timeToReady
	if e.Proxy >= c.cfg.Initial {
		times = s.joined
	}
	_ = times.RecordValue(int64(px.timeToReady)) // over an hour: no figure to keep
	for t, n := range e.ConfigBytes {
		s.configByType[t] += n
		px.configBytes += n
	}
	_ = s.configBytes.RecordValue(px.configBytes)
}

// leaveLocked ends the stream of proxy p, and all its pending pairs with it. A
// proxy that comes back asks for the same again, as Envoy does, so it stays
// subscribed; what it then receives may be any state of the mesh.
func (c *Collector) leaveLocked(s *shard, p int, e ending, at event.Time) []*mutation {
	s.ready.clear(p - s.first)
	s.connectLocked(s.proxy(p), false)
	var done []*mutation
	for _, m := range s.open {
		if l := m.live.Load(); l != nil && l.pending(s, p) {
			done = appendDone(done, s.endLocked(m, p, e, at, false))
		}
	}
	for cl := range c.known.all() {
		// Endpoints are told anew to a stream; of other types only what has changed is
		// reported, and the proxy holds what it held.
		if cl.typ == xds.EDS || e == retired {
			s.loseLocked(cl, p)
		}
		if e == retired {
			cl.subscribed.clear(p)
		}
	}
	return done
}

// unsubscribeLocked ends the pairs that waited for clusters the proxy no longer
// asks for: delivered if the others have arrived, retired if there is none.
func (c *Collector) unsubscribeLocked(s *shard, e *event.ProxyEvent) []*mutation {
	var done []*mutation
	for _, name := range e.Clusters {
		if cl := c.known.get(xds.EDS, name); cl != nil {
			cl.subscribed.clear(e.Proxy)
			// What is no longer asked for is no longer held, which may be what a
			// mutation wanted.
			if at, how := find(*cl.history.Load(), cl.position(e.Proxy), event.Absent, e.At); how == forward && at > 0 && cl.audience != nil {
				done = s.reachLocked(done, cl, e.Proxy, at, e.At)
				continue
			}
			s.loseLocked(cl, e.Proxy)
		}
	}
	for _, m := range s.open {
		l := m.live.Load()
		if l == nil || !l.pending(s, e.Proxy) {
			continue
		}
		if !m.owed(e.Proxy) {
			done = appendDone(done, s.endLocked(m, e.Proxy, retired, e.At, false))
		} else if all, later := m.reached(e.Proxy); all {
			done = appendDone(done, s.endLocked(m, e.Proxy, delivered, e.At, later))
		}
	}
	return done
}
