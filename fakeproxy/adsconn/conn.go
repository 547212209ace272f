package adsconn

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/internal/address"
)

// Envoy's HTTP/2 windows are static and large; so are these: they keep the
// server's flow control and grpc-go's bandwidth estimator out of the
// measurement.
const (
	streamWindow     = 16 << 20
	connectionWindow = 24 << 20

	// readBuffer is taken from a pool once there is something to read.
	readBuffer = 32 << 10
)

// Bounds on what waits for the peer.
const (
	// connectTimeout is for the TCP connection and the peer's HTTP/2 settings.
	connectTimeout = 20 * time.Second
	// openTimeout is for all that opening a stream takes: the connection, and that
	// the peer lets another stream begin.
	openTimeout = 30 * time.Second
	// closeTimeout is for telling a peer that the connection ends. One that reads
	// nothing more is left after that.
	closeTimeout = time.Second
)

// Config is what the connections of a fleet have in common.
type Config struct {
	Clock event.Clock
	// Addresses are the control plane's. Choose returns the index of the one that
	// the next connection goes to.
	Addresses []address.Address
	Choose    func() int
	// MaxReceiveBytes bounds one message. 0 means unlimited.
	MaxReceiveBytes int
}

// Transport makes connections, and has what they share.
type Transport struct {
	cfg     Config
	senders *senders

	connectTimeout, openTimeout time.Duration
}

// NewTransport returns a Transport, which must be closed.
func NewTransport(cfg Config) *Transport {
	if cfg.MaxReceiveBytes == 0 {
		cfg.MaxReceiveBytes = math.MaxInt
	}
	return &Transport{cfg: cfg, senders: newSenders(), connectTimeout: connectTimeout, openTimeout: openTimeout}
}

// Close ends the goroutines that the connections share, and waits for them. All
// streams must have been closed.
func (t *Transport) Close() { t.senders.close() }

// ConnConfig is what one connection has of its own.
type ConnConfig struct {
	// Source is the address to connect from. Invalid means the system's choice.
	Source netip.Addr
	// MayStop says that StopReading may be called.
	MayStop bool
	// BytesPerSecond, or a Pause before each read, slows the reading down. 0 means
	// at full speed. SlowReads, if set, counts the reads that had to wait.
	BytesPerSecond int
	Pause          time.Duration
	SlowReads      *atomic.Int64
}

// Conn is the connection that one proxy, or a few, have to the control plane.
// It is there while any of them has a stream.
type Conn struct {
	transport *Transport
	cfg       ConnConfig
	meter     meter
	socket    atomic.Pointer[socket] // the latest

	mu      sync.Mutex // guards all below
	cc      *grpc.ClientConn
	address int // of cc, by index
	streams int
}

// NewConn returns a connection that is opened by its first stream.
func (t *Transport) NewConn(cfg ConnConfig) *Conn {
	return &Conn{transport: t, cfg: cfg, meter: meter{clock: t.cfg.Clock}}
}

// Bytes returns what was read from and written to the sockets so far.
func (c *Conn) Bytes() (in, out int64) { return c.meter.in.Load(), c.meter.out.Load() }

// StopReading leaves the present connection open and reads it no more.
func (c *Conn) StopReading() {
	if s := c.socket.Load(); s != nil && s.pacer != nil {
		s.pacer.stop()
	}
}

// acquire returns the connection, opened lazily by its first stream, and the index
// of its address. All attempts of one user are to one address; the next user of a
// connection that nobody used gets an address chosen anew.
func (c *Conn) acquire() (cc *grpc.ClientConn, addr int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cc == nil {
		i := c.transport.cfg.Choose()
		to := c.transport.cfg.Addresses[i]
		cc, err = grpc.NewClient("passthrough:///"+authority(to), c.options(to)...)
		if err != nil {
			return nil, 0, err
		}
		c.cc, c.address = cc, i
	}
	c.streams++
	return c.cc, c.address, nil
}

// authority is the host that the peer is called by. A unix socket has none.
func authority(a address.Address) string {
	if a.Network == "unix" {
		return "localhost"
	}
	return a.Endpoint
}

// release closes the connection after its last user.
func (c *Conn) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams--
	if c.streams > 0 {
		return nil
	}
	cc := c.cc
	c.cc = nil
	c.socket.Store(nil)
	return cc.Close()
}

func (c *Conn) options(to address.Address) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(c.dialer(to)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: c.transport.connectTimeout}),
		grpc.WithNoProxy(),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableHealthCheck(),
		grpc.WithIdleTimeout(0),
		grpc.WithReadBufferSize(readBuffer),
		grpc.WithWriteBufferSize(0), // see frameWriter
		grpc.WithStaticStreamWindowSize(streamWindow),
		grpc.WithStaticConnWindowSize(connectionWindow),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(c.transport.cfg.MaxReceiveBytes),
			grpc.MaxCallSendMsgSize(math.MaxInt),
			grpc.ForceCodecV2(codec{meter: &c.meter}),
		),
	}
}

// open opens a stream, at most for openTimeout. The stream ends with ctx.
func (c *Conn) open(ctx context.Context, cancel context.CancelCauseFunc, method string) (grpc.ClientStream, int, error) {
	cc, addr, err := c.acquire()
	if err != nil {
		return nil, 0, err
	}
	timeout := time.AfterFunc(c.transport.openTimeout, func() { cancel(errOpenTimeout) })
	defer timeout.Stop()
	stream, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return nil, 0, errors.Join(err, c.release())
	}
	return stream, addr, nil
}
