package controlplane

import (
	"log/slog"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

// loop plays go-control-plane's SotW loop for one connection.
type loop struct {
	conn   *connection
	out    chan cache.Response
	cancel map[xdsType]func()
}

func newLoop(t *testing.T) *loop {
	t.Helper()
	m := newMetrics()
	d := newDiscoveryServer(newRegistry(true, m), m, settings{pushThrottle: 1}, slog.New(slog.DiscardHandler))
	d.push(d.registry.start())
	return &loop{
		conn:   &connection{server: d},
		out:    make(chan cache.Response, typeCount),
		cancel: make(map[xdsType]func()),
	}
}

// request hands a request to the connection. As the server does, it ends the
// type's watch first, sends what the channel holds of other types and throws
// away what it holds of this one. It returns the types that were sent.
func (l *loop) request(t *testing.T, kind xdsType) []xdsType {
	t.Helper()
	var sent []xdsType
	if cancel := l.cancel[kind]; cancel != nil {
		cancel()
		for len(l.out) > 0 {
			if r := <-l.out; r.GetRequest().GetTypeUrl() != kind.url() {
				sent = append(sent, l.send(t, r))
			}
		}
	}
	cancel, err := l.conn.CreateWatch(
		&cache.Request{TypeUrl: kind.url(), Node: &core.Node{Id: "sidecar~10.0.0.1~a.b~b"}}, nil, l.out)
	if err != nil {
		t.Fatal(err)
	}
	l.cancel[kind] = cancel
	return sent
}

func (l *loop) send(t *testing.T, r cache.Response) xdsType {
	t.Helper()
	kind, _ := typeOf(r.GetRequest().GetTypeUrl())
	if err := l.conn.send("nonce", func(*bundle) error { return nil }); err != nil {
		t.Error(err)
	}
	return kind
}

// drain sends all that the channel comes to hold.
func (l *loop) drain(t *testing.T) []xdsType {
	t.Helper()
	var sent []xdsType
	for len(l.out) > 0 {
		sent = append(sent, l.send(t, <-l.out))
	}
	return sent
}

func wantTypes(t *testing.T, what string, got []xdsType, want ...xdsType) {
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
	l.request(t, typeCDS)
	wantTypes(t, "first request", l.drain(t), typeCDS)
	l.request(t, typeLDS)
	wantTypes(t, "second request", l.drain(t), typeLDS)

	done := false
	l.conn.begin(&pushRequest{full: true}, func() { done = true })
	// An ACK of the old clusters crosses the push.
	wantTypes(t, "while the ACK is handled", l.request(t, typeCDS))
	wantTypes(t, "after it", l.drain(t), typeCDS, typeLDS)
	if !done {
		t.Error("the push is not done")
	}

	done = false
	l.conn.begin(&pushRequest{full: true}, func() { done = true })
	wantTypes(t, "while an ACK of listeners is handled", l.request(t, typeLDS), typeCDS)
	wantTypes(t, "after it", l.drain(t), typeLDS)
	if !done {
		t.Error("the push is not done")
	}
}

func TestPushIsDoneWhenItsStreamEnds(t *testing.T) {
	l := newLoop(t)
	l.request(t, typeCDS)
	l.drain(t)
	calls := 0
	l.conn.begin(&pushRequest{full: true}, func() { calls++ })
	l.cancel[typeCDS]()
	l.conn.close()
	l.conn.begin(&pushRequest{full: true}, func() { calls++ })
	if calls != 2 {
		t.Errorf("done was called %d times for two pushes", calls)
	}
}
