package h2_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/mem"

	"github.com/xdsbench/xdsbench/fakeproxy/adsconn/h2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errInterrupted = errors.New("reading was interrupted")

// wire is both a Socket and the peer behind it, in memory. The peer's side is read and
// written by the framer of x/net, which is not ours.
type wire struct {
	mu          sync.Mutex
	changed     *sync.Cond
	toClient    []byte
	ended       bool // the peer closed
	toPeer      bytes.Buffer
	room        int // what the socket takes before a write has to wait
	interrupted bool
	closed      bool
	readSize    int // most bytes of one read
}

func newWire() *wire {
	w := &wire{room: math.MaxInt, readSize: math.MaxInt}
	w.changed = sync.NewCond(&w.mu)
	return w
}

func (w *wire) update(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	w.changed.Broadcast()
}

// ReadLoop is the client's.
func (w *wire) ReadLoop(pool *h2.BufferPool, take func(buf *[]byte, n int) bool) error {
	for {
		w.mu.Lock()
		for len(w.toClient) == 0 && !w.ended && !w.interrupted && !w.closed {
			w.changed.Wait()
		}
		switch {
		case w.interrupted || w.closed:
			w.mu.Unlock()
			return errInterrupted
		case len(w.toClient) == 0:
			w.mu.Unlock()
			return io.EOF
		}
		buf := pool.Get()
		n := copy((*buf)[:min(len(*buf), w.readSize)], w.toClient)
		w.toClient = w.toClient[n:]
		w.mu.Unlock()
		if !take(buf, n) {
			return nil
		}
	}
}

func (w *wire) TryWrite(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, io.ErrClosedPipe
	}
	n := min(len(b), w.room)
	w.room -= n
	w.toPeer.Write(b[:n])
	w.changed.Broadcast()
	return n, nil
}

func (w *wire) WriteAll(b []byte) error {
	for len(b) > 0 {
		w.mu.Lock()
		for w.room == 0 && !w.closed {
			w.changed.Wait()
		}
		w.mu.Unlock()
		n, err := w.TryWrite(b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func (w *wire) Stamp() h2.Stamp                  { return h2.Stamp{} }
func (w *wire) Interrupt()                       { w.update(func() { w.interrupted = true }) }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return w.Close() }

func (w *wire) Close() error {
	w.update(func() { w.closed = true })
	return nil
}

// Read and Write are the peer's.
func (w *wire) Read(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.toPeer.Len() == 0 && !w.closed {
		w.changed.Wait()
	}
	if w.toPeer.Len() == 0 {
		return 0, io.EOF
	}
	return w.toPeer.Read(b)
}

func (w *wire) Write(b []byte) (int, error) {
	w.update(func() { w.toClient = append(w.toClient, b...) })
	return len(b), nil
}

// peer is the server's end.
type peer struct {
	*http2.Framer

	t    testing.TB
	wire *wire
	hp   *hpack.Encoder
	hbuf bytes.Buffer
}

func newPeer(tb testing.TB, w *wire) *peer {
	tb.Helper()
	p := &peer{Framer: http2.NewFramer(w, w), t: tb, wire: w}
	p.AllowIllegalWrites, p.AllowIllegalReads = true, true
	p.hp = hpack.NewEncoder(&p.hbuf)
	p.hp.SetMaxDynamicTableSize(0)
	return p
}

// preface reads what a client sends first, and returns its settings.
func (p *peer) preface() map[http2.SettingID]uint32 {
	p.t.Helper()
	b := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(p.wire, b); err != nil || string(b) != http2.ClientPreface {
		p.t.Fatalf("preface %q, %v", b, err)
	}
	out := map[http2.SettingID]uint32{}
	f, ok := p.next().(*http2.SettingsFrame)
	if !ok {
		p.t.Fatalf("first frame %v: want settings", f)
	}
	_ = f.ForeachSetting(func(s http2.Setting) error { out[s.ID] = s.Val; return nil })
	return out
}

// next returns the client's next frame.
func (p *peer) next() http2.Frame {
	p.t.Helper()
	f, err := p.ReadFrame()
	if err != nil {
		p.t.Fatalf("reading the client's next frame: %v", err)
	}
	return f
}

// await returns the client's next frame of a kind.
func await[F http2.Frame](p *peer) F {
	p.t.Helper()
	for {
		if f, ok := p.next().(F); ok {
			return f
		}
	}
}

func (p *peer) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// block encodes headers, as name and value in turns.
func (p *peer) block(fields ...string) []byte {
	p.hbuf.Reset()
	for i := 0; i < len(fields); i += 2 {
		p.must(p.hp.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	return bytes.Clone(p.hbuf.Bytes())
}

var ok = []string{":status", "200", "content-type", "application/grpc"}

// respond sends the headers of a response.
func (p *peer) respond(stream uint32, fields ...string) {
	p.t.Helper()
	if len(fields) == 0 {
		fields = ok
	}
	p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: p.block(fields...), EndHeaders: true}))
}

// end sends trailers.
func (p *peer) end(stream uint32, fields ...string) {
	p.t.Helper()
	p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: p.block(fields...), EndHeaders: true, EndStream: true}))
}

// grpcMessage is a message with its prefix.
func grpcMessage(b []byte) []byte {
	out := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b)))
	return append(out, b...)
}

func config() h2.Config {
	return h2.Config{Buffers: h2.NewBuffers(), StreamWindow: 1 << 20, ConnectionWindow: 2 << 20, MaxReceiveBytes: 1 << 24, SettingsTimeout: time.Minute}
}

var headers = h2.RequestHeaders("host:1", "/service/Method", "agent")

// opened is a client with one stream, whose peer has sent its settings and read the
// client's.
func opened(tb testing.TB, cfg h2.Config, shared bool) (*h2.Conn, *h2.Stream, *peer) {
	tb.Helper()
	w := newWire()
	p := newPeer(tb, w)
	p.must(p.WriteSettings())
	c := h2.New(w, cfg, shared)
	tb.Cleanup(func() { _ = c.Close() })
	s, err := c.Open(headers, tb.Context().Done())
	if err != nil {
		tb.Fatal(err)
	}
	p.preface()
	return c, s, p
}

// received is what a stream got until it ended.
type received struct {
	messages [][]byte
	err      error
}

// collect serves a stream to its end.
func collect(s *h2.Stream) <-chan received {
	out := make(chan received, 1)
	go func() {
		var r received
		r.err = s.Serve(func(m *h2.Message) error {
			r.messages = append(r.messages, bytes.Join(m.Pieces, nil))
			return nil
		})
		out <- r
	}()
	return out
}

// within waits for something that must not take long.
func within[T any](tb testing.TB, what string, c <-chan T) T {
	tb.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		tb.Fatalf("waited 30 s for %s", what)
		panic("unreachable")
	}
}

func buffer(b []byte) mem.Buffer { return mem.SliceBuffer(b) }
