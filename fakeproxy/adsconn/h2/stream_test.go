package h2_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/fakeproxy/adsconn/h2"
)

// TestStreamsBeginAsEnvoysDo holds what is sent first to Envoy's values.
func TestStreamsBeginAsEnvoysDo(t *testing.T) {
	t.Parallel()
	w := newWire()
	c := h2.New(w, h2.Config{Buffers: h2.NewBuffers(), StreamWindow: 16 << 20, ConnectionWindow: 24 << 20}, false)
	defer func() { _ = c.Close() }()
	if _, err := c.Open(headers, nil); err != nil {
		t.Fatal(err)
	}
	p := newPeer(t, w)
	settings := p.preface()
	want := map[http2.SettingID]uint32{
		http2.SettingHeaderTableSize: 0, http2.SettingEnablePush: 0, http2.SettingInitialWindowSize: 16 << 20, http2.SettingMaxHeaderListSize: 60 << 10,
	}
	for id, v := range want {
		if got, ok := settings[id]; !ok || got != v {
			t.Errorf("setting %v: %d, %v: want %d", id, got, ok, v)
		}
	}
	if len(settings) != len(want) {
		t.Errorf("settings %v", settings)
	}
	if f := await[*http2.WindowUpdateFrame](p); f.StreamID != 0 || f.Increment != 24<<20-65535 {
		t.Errorf("update of the connection's window: %v", f)
	}
	f := await[*http2.HeadersFrame](p)
	fields, err := hpack.NewDecoder(0, nil).DecodeFull(f.HeaderBlockFragment())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, h := range fields {
		got[h.Name] = h.Value
	}
	if got[":method"] != "POST" || got[":path"] != "/service/Method" || got[":authority"] != "host:1" || got["te"] != "trailers" || got["content-type"] != "application/grpc" {
		t.Errorf("headers %v", got)
	}
}

// TestMessagesArriveWhateverTheyAreCutInto sends messages in frames and reads of any size,
// with padding, other frames between, and other streams' messages where there are some.
func TestMessagesArriveWhateverTheyAreCutInto(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		shared := rapid.Bool().Draw(r, "shared")
		w := newWire()
		w.readSize = rapid.SampledFrom([]int{1, 7, 100, 5000, 1 << 20}).Draw(r, "read size")
		p := newPeer(t, w)
		p.must(p.WriteSettings())
		c := h2.New(w, config(), shared)
		defer func() { _ = c.Close() }()
		streams := 1
		if shared {
			streams = rapid.IntRange(1, 3).Draw(r, "streams")
		}
		var got []<-chan received
		want := make([][][]byte, streams)
		for range streams {
			s, err := c.Open(headers, nil)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, collect(s))
		}
		rest := make([][]byte, streams)
		for i := range streams {
			for range rapid.IntRange(0, 4).Draw(r, "messages") {
				n := rapid.SampledFrom([]int{0, 1, 4, 300, 16 << 10, 70_000}).Draw(r, "size")
				m := bytes.Repeat([]byte{byte(i + 1), byte(n), 3}, n/3+1)[:n]
				want[i] = append(want[i], m)
				rest[i] = append(rest[i], grpcMessage(m)...)
			}
			p.respond(uint32(2*i + 1))
		}
		var open []int
		for i := range streams {
			if len(want[i]) > 0 {
				open = append(open, i)
			} else {
				p.end(uint32(2*i+1), "grpc-status", "0")
			}
		}
		for len(open) > 0 {
			at := rapid.IntRange(0, len(open)-1).Draw(r, "stream")
			i := open[at]
			id := uint32(2*i + 1)
			n := min(len(rest[i]), rapid.SampledFrom([]int{1, 2, 5, 6, 1000, 16_000}).Draw(r, "frame"))
			if n < len(rest[i]) && rapid.IntRange(0, 5).Draw(r, "padded") == 0 {
				p.must(p.WriteDataPadded(id, false, rest[i][:n], zeros(rapid.IntRange(0, 255).Draw(r, "padding"))))
			} else {
				p.must(p.WriteData(id, false, rest[i][:n]))
			}
			switch rapid.IntRange(0, 8).Draw(r, "other") {
			case 0:
				p.must(p.WritePing(false, [8]byte{1}))
			case 1:
				p.raw(0xee, 0xff, id, zeros(9))
			}
			if rest[i] = rest[i][n:]; len(rest[i]) == 0 {
				open = slices.Delete(open, at, at+1)
				p.end(id, "grpc-status", "0")
			}
		}
		for i := range streams {
			g := within(t, "the end", got[i])
			if g.err != io.EOF || len(g.messages) != len(want[i]) { //nolint:errorlint // exactly it
				r.Fatalf("stream %d: %d messages, %v: want %d", i, len(g.messages), g.err, len(want[i]))
			}
			for k := range want[i] {
				if !bytes.Equal(g.messages[k], want[i][k]) {
					r.Fatalf("stream %d, message %d: %d bytes, want %d", i, k, len(g.messages[k]), len(want[i][k]))
				}
			}
		}
	})
}

// TestRequestsLeaveInOrderWithinTheWindows sends requests to a peer that opens its windows
// bit by bit, over a socket that takes little at once.
func TestRequestsLeaveInOrderWithinTheWindows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWire()
		p := newPeer(t, w)
		window := rapid.SampledFrom([]int{0, 1, 100, 65_535}).Draw(r, "window")
		frame := rapid.SampledFrom([]uint32{16 << 10, 20_000}).Draw(r, "frame")
		p.must(p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(window)}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: frame}))
		w.room = rapid.SampledFrom([]int{0, 10, 1000, 1 << 30}).Draw(r, "room")
		c := h2.New(w, config(), false)
		s, err := c.Open(headers, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := collect(s)
		p.respond(1)
		var want []byte
		for i := range rapid.IntRange(1, 4).Draw(r, "requests") {
			m := bytes.Repeat([]byte{byte(i)}, rapid.SampledFrom([]int{0, 1, 200, 60_000, 150_000}).Draw(r, "size"))
			want = append(want, grpcMessage(m)...)
			cut := rapid.IntRange(0, len(m)).Draw(r, "cut")
			s.Send(buffer(m[:cut]), buffer(m[cut:]))
		}
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() { // the socket takes more as time goes on
			defer close(done)
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Microsecond):
					w.update(func() {
						if w.room < 1<<20 {
							w.room += 40_000
						}
					})
				}
			}
		}()
		p.preface()
		var sent []byte
		for allowed, connection := window, 65_535; len(sent) < len(want); {
			if allowed == 0 || connection == 0 {
				step := rapid.SampledFrom([]int{1, 5_000, 70_000}).Draw(r, "step")
				p.must(p.WriteWindowUpdate(1, uint32(step)))
				p.must(p.WriteWindowUpdate(0, uint32(step)))
				allowed, connection = allowed+step, connection+step
			}
			f, ok := p.next().(*http2.DataFrame)
			if !ok {
				continue
			}
			n := len(f.Data())
			if n > int(frame) || n > allowed+65_535 || n > connection { // the settings may come after the first frames
				r.Fatalf("a frame of %d bytes: %d of the stream's window, %d of the connection's", n, allowed, connection)
			}
			allowed, connection = allowed-n, connection-n
			sent = append(sent, f.Data()...)
			if allowed < 0 { // it was sent before the settings were known
				p.must(p.WriteWindowUpdate(1, uint32(-allowed)))
				allowed = 0
			}
		}
		if !bytes.Equal(sent, want) {
			r.Fatalf("%d bytes differ from those sent", len(sent))
		}
		close(stop)
		<-done
		w.update(func() { w.room = 1 << 30 })
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		within(t, "the end", got)
	})
}

func TestWindowsAreGivenBackByHalves(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.StreamWindow, cfg.ConnectionWindow = 100_000, 200_000
	_, s, p := opened(t, cfg, false)
	collect(s)
	p.respond(1)
	for range 4 {
		p.raw(http2.FrameData, 0, 1, grpcMessage(zeros(14_995)))
	}
	if f := await[*http2.WindowUpdateFrame](p); f.StreamID != 0 || f.Increment != 200_000-65_535 {
		t.Fatalf("first update %v", f)
	}
	if f := await[*http2.WindowUpdateFrame](p); f.StreamID != 1 || f.Increment != 60_000 {
		t.Errorf("update %v: want 60000 of stream 1", f)
	}
}

func TestPingsAreAnswered(t *testing.T) {
	t.Parallel()
	_, s, p := opened(t, config(), false)
	collect(s)
	p.must(p.WritePing(false, [8]byte{1, 2, 3, 4, 5, 6, 7, 8}))
	if f := await[*http2.PingFrame](p); !f.IsAck() || f.Data != [8]byte{1, 2, 3, 4, 5, 6, 7, 8} {
		t.Errorf("answer %v", f)
	}
}

// TestAConnectionThatSaidGoAwayServesItsStreams as a server does that is to be replaced.
func TestAConnectionThatSaidGoAwayServesItsStreams(t *testing.T) {
	t.Parallel()
	c, s, p := opened(t, config(), true)
	got := collect(s)
	p.respond(1)
	p.must(p.WriteGoAway(1, http2.ErrCodeNo, []byte("max_age")))
	p.raw(http2.FrameData, 0, 1, grpcMessage([]byte("late")))
	for c.Usable() {
		time.Sleep(time.Millisecond)
	}
	if _, err := c.Open(headers, nil); status.Code(err) != codes.Unavailable {
		t.Errorf("a further stream: %v", err)
	}
	p.wire.update(func() { p.wire.ended = true })
	r := within(t, "the end", got)
	if len(r.messages) != 1 || status.Code(r.err) != codes.Unavailable || !bytes.Contains([]byte(r.err.Error()), []byte("max_age")) {
		t.Errorf("%q, %v: want the message, and the peer's reason", r.messages, r.err)
	}
}

func TestNoMoreStreamsBeginThanThePeerAllows(t *testing.T) {
	t.Parallel()
	w := newWire()
	p := newPeer(t, w)
	p.must(p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}))
	c := h2.New(w, config(), true)
	defer func() { _ = c.Close() }()
	first, err := c.Open(headers, nil)
	if err != nil {
		t.Fatal(err)
	}
	never := make(chan struct{})
	close(never)
	if _, err := c.Open(headers, never); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("second stream: %v", err)
	}
	second := make(chan error, 1)
	go func() { _, err := c.Open(headers, nil); second <- err }()
	first.Interrupt()
	if err := within(t, "the second stream", second); err != nil {
		t.Error(err)
	}
}

func TestHandlersErrorEndsTheServing(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		_, s, p := opened(t, config(), shared)
		p.respond(1)
		p.raw(http2.FrameData, 0, 1, append(grpcMessage([]byte("a")), grpcMessage([]byte("b"))...))
		own := errors.New("the handler's own")
		n := 0
		if err := s.Serve(func(*h2.Message) error { n++; return own }); !errors.Is(err, own) || n != 1 {
			t.Errorf("shared %v: %v after %d messages", shared, err, n)
		}
	}
}

func TestAStreamCanBeInterruptedWhileItWaits(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		_, s, p := opened(t, config(), shared)
		got := collect(s)
		time.Sleep(5 * time.Millisecond)
		s.Interrupt()
		if err := within(t, "the end", got).err; err == nil {
			t.Errorf("shared %v: no error", shared)
		}
		if f := await[*http2.RSTStreamFrame](p); f.ErrCode != http2.ErrCodeCancel {
			t.Errorf("shared %v: reset with %v", shared, f.ErrCode)
		}
		s.Send(buffer([]byte("late")), nil) // is dropped
	}
}

// TestClosingIsBoundedWhereThePeerReadsNothing leaves a writer behind that waits.
func TestClosingIsBoundedWhereThePeerReadsNothing(t *testing.T) {
	t.Parallel()
	c, s, p := opened(t, config(), false)
	p.wire.update(func() { p.wire.room = 0 })
	s.Send(buffer(zeros(1000)), nil)
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	_ = within(t, "the connection to close", closed)
}

// TestRequestsBuffersAreGivenBack counts the buffers that are freed: at once where they
// were written, and at the end where they were not.
func TestRequestsBuffersAreGivenBack(t *testing.T) {
	t.Parallel()
	pool := &countingPool{}
	c, s, _ := opened(t, config(), false)
	for range 10 {
		b := pool.Get(70_000)
		s.Send(mem.NewBuffer(b, pool), nil)
	}
	s.Interrupt()
	s.Send(mem.NewBuffer(pool.Get(70_000), pool), nil)
	_ = c.Close()
	if pool.out != 0 {
		t.Errorf("%d buffers are missing", pool.out)
	}
}

type countingPool struct{ out int }

func (p *countingPool) Get(n int) *[]byte { p.out++; b := make([]byte, n); return &b }
func (p *countingPool) Put(*[]byte)       { p.out-- }
