package h2

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsbench/xdsbench/event"
)

// Socket is what carries a connection.
type Socket interface {
	// ReadLoop reads until take says that nothing more is wanted, which is no error, or
	// until the end, which is io.EOF. take is given bytes in a buffer of the pool, which it
	// keeps or gives back. It is called by one goroutine.
	ReadLoop(pool *BufferPool, take func(buf *[]byte, n int) (more bool)) error
	// TryWrite writes what the socket takes without waiting, which may be nothing.
	TryWrite(b []byte) (int, error)
	// WriteAll waits until all is written.
	WriteAll(b []byte) error
	// Stamp is called when a message is whole.
	Stamp() Stamp
	// Interrupt ends a ReadLoop that waits, and all later ones, with an error.
	Interrupt()
	// SetReadDeadline and SetWriteDeadline bound what waits. The zero time is never.
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
	Close() error
}

// Stamp is when a message was whole, and when the last of it had reached this machine: 0
// if that is not known.
type Stamp struct{ Received, Arrived event.Time }

// Config is what the connections of a fleet have in common.
type Config struct {
	// Buffers are shared by all connections.
	Buffers *Buffers
	// StreamWindow and ConnectionWindow are how many bytes the peer may send before
	// it is allowed more.
	StreamWindow, ConnectionWindow uint32
	// MaxReceiveBytes bounds one message.
	MaxReceiveBytes int
	// SettingsTimeout bounds the wait for the peer's first frame, which are its settings.
	SettingsTimeout time.Duration
}

// Conn is the client's end of a connection.
type Conn struct {
	socket Socket
	cfg    Config
	shared bool // by several streams: a goroutine of its own reads
	in     reader
	work   sync.WaitGroup // goroutines that read or write

	mu       sync.Mutex // guards all below
	out      writer
	streams  map[uint32]*Stream
	nextID   uint32
	peer     settings
	greeted  bool  // the peer's settings have come
	leaving  bool  // the peer takes no further streams
	err      error // why the connection has ended
	closing  bool
	broken   bool          // reading was interrupted
	progress chan struct{} // closed when a stream that has to wait for its turn may look again
}

// settings are what the peer has set (RFC 9113, 6.5.2).
type settings struct {
	streams   uint32 // at once
	window    int64  // of a new stream
	frameSize int
	farewell  string // what it said when it went, as the end of a sentence
}

// New returns a connection over a socket, which it closes, and sends what opens it. A
// connection that is not shared has one stream ever.
func New(socket Socket, cfg Config, shared bool) *Conn {
	c := &Conn{
		socket: socket, cfg: cfg, shared: shared, nextID: 1, streams: make(map[uint32]*Stream, 1),
		peer: settings{streams: math.MaxUint32, window: defaultWindow, frameSize: maxFrameSize},
	}
	c.in.window = int64(cfg.ConnectionWindow)
	c.out.window = defaultWindow
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.control = c.preface(c.out.control)
	if shared {
		c.progress = make(chan struct{})
		c.await()
		c.pump()
		c.work.Go(c.serve)
	}
	return c
}

// await bounds the wait for the peer's settings. Needs mu.
func (c *Conn) await() {
	if c.cfg.SettingsTimeout > 0 {
		c.note(c.socket.SetReadDeadline(time.Now().Add(c.cfg.SettingsTimeout)))
	}
}

// note ends the connection on an error of the socket. Needs mu.
func (c *Conn) note(err error) {
	if err != nil {
		c.endAll(status.Error(codes.Unavailable, "connection: "+err.Error()))
	}
}

// preface appends what a client sends first: Envoy's settings of a client, but that it
// keeps no table of headers (SETTINGS_HEADER_TABLE_SIZE 0), which would cost memory for
// each connection.
func (c *Conn) preface(b []byte) []byte {
	b = append(b, http2.ClientPreface...)
	b = appendFrameHeader(b, 4*6, http2.FrameSettings, 0, 0)
	b = appendSetting(b, http2.SettingHeaderTableSize, 0)
	b = appendSetting(b, http2.SettingEnablePush, 0)
	b = appendSetting(b, http2.SettingInitialWindowSize, c.cfg.StreamWindow)
	b = appendSetting(b, http2.SettingMaxHeaderListSize, maxHeaderList)
	if more := int64(c.cfg.ConnectionWindow) - defaultWindow; more > 0 {
		b = appendWindowUpdate(b, 0, uint32(more))
	}
	return b
}

// Open begins a stream with a block of request headers, see RequestHeaders. Where the
// peer lets no further stream begin, it waits until done is closed.
func (c *Conn) Open(headers []byte, done <-chan struct{}) (*Stream, error) {
	for {
		s, wait, err := c.tryOpen(headers)
		if wait == nil {
			return s, err
		}
		select {
		case <-wait:
		case <-done:
			return nil, status.Error(codes.DeadlineExceeded, "the control plane let no stream begin in time")
		}
	}
}

// tryOpen begins a stream, or returns what to wait for.
func (c *Conn) tryOpen(headers []byte) (s *Stream, wait <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return nil, nil, c.err
	case c.leaving || c.closing || c.nextID > maxStreamID:
		return nil, nil, status.Error(codes.Unavailable, "the connection takes no further streams")
	case c.shared && (!c.greeted || uint64(len(c.streams)) >= uint64(c.peer.streams)):
		return nil, c.progress, nil
	case !c.shared && c.nextID > 1:
		return nil, nil, errors.New("the connection has had its one stream")
	}
	s = &Stream{conn: c, id: c.nextID, sendWindow: c.peer.window, window: int64(c.cfg.StreamWindow)}
	if c.shared {
		s.wake = make(chan struct{}, 1)
	} else {
		c.await()
	}
	c.nextID += 2
	c.streams[s.id] = s
	c.out.control = appendFrameHeader(c.out.control, len(headers), http2.FrameHeaders, http2.FlagHeadersEndHeaders, s.id)
	c.out.control = append(c.out.control, headers...)
	c.pump()
	return s, nil, c.err
}

// Usable reports whether a new stream may begin on the connection.
func (c *Conn) Usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil && !c.leaving && !c.closing
}

// Close tells the peer which streams end, as far as it reads, and closes the socket. It
// returns when no goroutine of the connection is left: at latest after closeTimeout.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closing = true
	for _, s := range c.streams {
		c.reset(s, http2.ErrCodeCancel)
	}
	c.pump()
	writing := c.out.busy
	c.mu.Unlock()
	var err error
	if writing {
		err = c.socket.SetWriteDeadline(time.Now().Add(closeTimeout))
	}
	c.interrupt()
	c.work.Wait()
	return errors.Join(err, c.socket.Close())
}

// endAll ends the connection, and all streams with it. Needs mu.
func (c *Conn) endAll(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	c.drop()
	for _, s := range c.streams {
		c.end(s, err)
	}
	c.moved()
}

// end ends a stream. Needs mu.
func (c *Conn) end(s *Stream, err error) {
	if s.err != nil {
		return
	}
	s.err = err
	s.dropQueue()
	delete(c.streams, s.id)
	s.signal()
	c.moved()
}

// reset ends a stream of our own accord. Needs mu.
func (c *Conn) reset(s *Stream, code http2.ErrCode) {
	if s.err != nil {
		return
	}
	c.out.control = appendReset(c.out.control, s.id, code)
	c.end(s, errReset)
}

var errReset = status.Error(codes.Canceled, "the stream was closed")

// moved lets those look again that wait for a stream to begin. Needs mu.
func (c *Conn) moved() {
	if c.progress != nil {
		close(c.progress)
		c.progress = make(chan struct{})
	}
}

// breach ends the connection because the peer broke the protocol, and tells it so.
func (c *Conn) breach(code http2.ErrCode, format string, args ...any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.breachLocked(code, format, args...)
}

// breachLocked is breach. Needs mu.
func (c *Conn) breachLocked(code http2.ErrCode, format string, args ...any) error {
	err := status.Error(codes.Internal, fmt.Sprintf("the control plane broke HTTP/2 (%s): ", code)+fmt.Sprintf(format, args...))
	if c.err != nil {
		return c.err
	}
	c.out.control = appendFrameHeader(c.out.control, 8, http2.FrameGoAway, 0, 0)
	c.out.control = appendUint32(c.out.control, 0)
	c.out.control = appendUint32(c.out.control, uint32(code))
	c.pump()
	c.endAll(err)
	return err
}

// interrupt ends all reading.
func (c *Conn) interrupt() {
	c.mu.Lock()
	c.broken = true
	c.mu.Unlock()
	c.socket.Interrupt()
}
