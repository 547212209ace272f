package collect_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

const (
	loadProxies   = 200
	loadServices  = 4
	loadMutations = 50
	loadStreams   = 8
)

// load is a churn and a fleet that use one Collector at the same time.
type load struct {
	*rig
	names  []string
	newest [loadServices]atomic.Uint64 // the state that may be sent by now
	over   atomic.Bool
}

func TestConcurrentUseKeepsTheBooks(t *testing.T) {
	l := &load{names: make([]string, loadServices)}
	for i := range l.names {
		l.names[i] = fmt.Sprintf("c%d", i)
	}
	l.rig = newRig(t, loadProxies, l.names...)
	var churn, fleet sync.WaitGroup
	for s := range loadServices {
		churn.Go(func() { l.churn(s) })
	}
	for i := range loadStreams {
		fleet.Go(func() { l.stream(i) })
	}
	churn.Wait()
	l.over.Store(true)
	fleet.Wait()
	if p := l.finish().Propagation; p.Expected == 0 || p.UnknownStates > 0 {
		t.Errorf("propagation = %+v, want pairs and no unknown states", p)
	}
}

func (l *load) churn(s int) {
	for i := range loadMutations {
		state := event.Fingerprint(1000*(s+1) + i)
		at := l.start.Add(time.Duration(i))
		m := &event.Mutation{
			Seq: uint64(s*loadMutations + i + 1), Scheduled: at, Issued: at,
			States: expect(l.names[s], state),
		}
		l.Begin(m)
		l.newest[s].Store(uint64(state))
		m.Acked = at + 1
		if i%10 == 0 {
			m.Err = errors.New("failed")
		}
		l.End(m)
	}
}

// stream serves every loadStreams-th proxy, which no other stream does.
func (l *load) stream(first int) {
	rng := rand.New(rand.NewPCG(uint64(first), 1))
	at := l.start.Add(time.Second)
	for i := 0; !l.over.Load(); i++ {
		p, s := first+loadStreams*rng.IntN(loadProxies/loadStreams), rng.IntN(loadServices)
		if state := event.Fingerprint(l.newest[s].Load()); state != 0 {
			l.Response(&event.Response{
				Proxy: p, Type: xds.EDS, Socket: at, Received: at, Answered: at,
				States: []event.ResourceState{{Type: xds.EDS, Name: l.names[s], State: state}},
			})
		}
		if i%100 == 0 {
			l.Proxy(&event.ProxyEvent{Proxy: p, Kind: event.Disconnected, At: at})
			l.Proxy(&event.ProxyEvent{Proxy: p, Kind: event.Ready, At: l.start})
			l.Proxy(&event.ProxyEvent{Proxy: p, Kind: event.Subscribed, At: at, Clusters: []string{fmt.Sprint("new", i)}})
		}
		l.Progress()
	}
}
