package discovery

import (
	"log/slog"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"

	"github.com/xdsbench/xdsbench/controlplane/internal/metrics"
	"github.com/xdsbench/xdsbench/controlplane/internal/registry"
	"github.com/xdsbench/xdsbench/controlplane/internal/snapshot"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// loop plays go-control-plane's SotW loop for one connection.
type loop struct {
	conn   *connection
	out    chan cache.Response
	cancel map[xds.Type]func()
}

func newLoop(t *testing.T) *loop {
	t.Helper()
	m := metrics.New()
	reg := registry.New(true, m)
	d := New(Config{Registry: reg, Metrics: m, Log: slog.New(slog.DiscardHandler), PushThrottle: 1, SendUnhealthy: true})
	d.Push(reg.Listen(d))
	return &loop{
		conn:   &connection{server: d},
		out:    make(chan cache.Response, xds.TypeCount),
		cancel: make(map[xds.Type]func()),
	}
}

// request hands a request to the connection. As the server does, it ends the
// type's watch first, sends what the channel holds of other types and throws
// away what it holds of this one. It returns the types that were sent.
func (l *loop) request(t *testing.T, kind xds.Type) []xds.Type {
	t.Helper()
	var sent []xds.Type
	if cancel := l.cancel[kind]; cancel != nil {
		cancel()
		for len(l.out) > 0 {
			if r := <-l.out; r.GetRequest().GetTypeUrl() != kind.URL() {
				sent = append(sent, l.send(t, r))
			}
		}
	}
	cancel, err := l.conn.CreateWatch(
		&cache.Request{TypeUrl: kind.URL(), Node: &core.Node{Id: "sidecar~10.0.0.1~a.b~b"}}, nil, l.out)
	if err != nil {
		t.Fatal(err)
	}
	l.cancel[kind] = cancel
	return sent
}

func (l *loop) send(t *testing.T, r cache.Response) xds.Type {
	t.Helper()
	kind, _ := xds.TypeOf(r.GetRequest().GetTypeUrl())
	if err := l.conn.send("nonce", func(*xds.Bundle) error { return nil }); err != nil {
		t.Error(err)
	}
	return kind
}

// drain sends all that the channel comes to hold.
func (l *loop) drain(t *testing.T) []xds.Type {
	t.Helper()
	var sent []xds.Type
	for len(l.out) > 0 {
		sent = append(sent, l.send(t, <-l.out))
	}
	return sent
}

func wantTypes(t *testing.T, what string, got []xds.Type, want ...xds.Type) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: sent %v, want %v", what, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: sent %v, want %v", what, got, want)
		}
	}
}

func TestResponseThatTheServerDropsIsSentInItsPlace(t *testing.T) {
	l := newLoop(t)
	l.request(t, xds.CDS)
	wantTypes(t, "first request", l.drain(t), xds.CDS)
	l.request(t, xds.LDS)
	wantTypes(t, "second request", l.drain(t), xds.LDS)

	done := false
	l.conn.startPush(&snapshot.PushRequest{Full: true}, func() { done = true })
	// An ACK of the old clusters crosses the push.
	wantTypes(t, "while the ACK is handled", l.request(t, xds.CDS))
	wantTypes(t, "after it", l.drain(t), xds.CDS, xds.LDS)
	if !done {
		t.Error("the push is not done")
	}

	done = false
	l.conn.startPush(&snapshot.PushRequest{Full: true}, func() { done = true })
	wantTypes(t, "while an ACK of listeners is handled", l.request(t, xds.LDS), xds.CDS)
	wantTypes(t, "after it", l.drain(t), xds.LDS)
	if !done {
		t.Error("the push is not done")
	}
}

func TestPushIsDoneWhenItsStreamEnds(t *testing.T) {
	l := newLoop(t)
	l.request(t, xds.CDS)
	l.drain(t)
	calls := 0
	l.conn.startPush(&snapshot.PushRequest{Full: true}, func() { calls++ })
	l.cancel[xds.CDS]()
	l.conn.close()
	l.conn.startPush(&snapshot.PushRequest{Full: true}, func() { calls++ })
	if calls != 2 {
		t.Errorf("done was called %d times for two pushes", calls)
	}
}
