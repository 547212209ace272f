package h2_test

import (
	"testing"

	"golang.org/x/net/http2"

	"github.com/xdsbench/xdsbench/fakeproxy/adsconn/h2"
)

// FuzzConnection gives a client whatever bytes, in reads of whatever size, after settings or
// without: it must neither panic nor hang, and end with the connection.
func FuzzConnection(f *testing.F) {
	seed := func(does func(p *peer)) {
		w := newWire()
		p := newPeer(f, w)
		does(p)
		f.Add(w.toClient, byte(0), false)
		f.Add(w.toClient, byte(3), true)
	}
	seed(func(p *peer) {
		p.must(p.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 15}))
		p.respond(1)
		p.must(p.WriteData(1, false, grpcMessage([]byte("message"))))
		p.must(p.WriteDataPadded(1, false, []byte{0, 0, 0}, zeros(3)))
		p.must(p.WritePing(false, [8]byte{1}))
		p.must(p.WriteWindowUpdate(0, 1000))
		p.must(p.WriteGoAway(1, http2.ErrCodeNo, []byte("bye")))
		p.end(1, "grpc-status", "14", "grpc-message", "a%20b")
	})
	seed(func(p *peer) {
		p.must(p.WriteSettings())
		block := p.block(ok...)
		p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:3]}))
		p.must(p.WriteContinuation(1, true, block[3:]))
		p.must(p.WriteRSTStream(1, http2.ErrCodeCancel))
	})
	f.Add([]byte("HTTP/1.1 400"), byte(1), false)
	f.Fuzz(func(t *testing.T, b []byte, readSize byte, shared bool) {
		w := newWire()
		w.toClient, w.ended = b, true
		if readSize > 0 {
			w.readSize = int(readSize)
		}
		c := h2.New(w, config(), shared)
		done := make(chan struct{})
		if shared {
			close(done) // a peer without settings lets no stream begin
		}
		if s, err := c.Open(headers, done); err == nil {
			s.Send(buffer([]byte("request")), nil)
			within(t, "the end", collect(s))
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
