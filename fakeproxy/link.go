package fakeproxy

import (
	"math"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
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

// link is the connection that one proxy, or a few, have to the control plane.
// It is there while any of them uses it.
type link struct {
	balancer *balancer
	dialer   dialer
	meter    meter
	max      int // bytes of the largest message received

	mu      sync.Mutex // guards all below
	cc      *grpc.ClientConn
	address int // of cc, by index
	uses    int
}

// acquire returns the connection, opened lazily by its first stream, and the index
// of its address. All attempts of one user are to one address; the next user of a
// connection that nobody used gets an address chosen anew.
func (l *link) acquire() (cc *grpc.ClientConn, address int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cc == nil {
		address = l.balancer.pick()
		cc, err = grpc.NewClient("passthrough:///"+l.balancer.addresses[address], l.options()...)
		if err != nil {
			return nil, 0, err
		}
		l.cc, l.address = cc, address
	}
	l.uses++
	return l.cc, l.address, nil
}

// stall leaves the present connection open and reads it no more.
func (l *link) stall() {
	if b := l.dialer.brake.Load(); b != nil {
		b.stall()
	}
}

// release closes the connection after its last user.
func (l *link) release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uses--
	if l.uses > 0 {
		return nil
	}
	cc := l.cc
	l.cc = nil
	return cc.Close()
}

func (l *link) options() []grpc.DialOption {
	limit := l.max
	if limit == 0 {
		limit = math.MaxInt
	}
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(l.dialer.dial),
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
			grpc.MaxCallRecvMsgSize(limit),
			grpc.MaxCallSendMsgSize(math.MaxInt),
			grpc.ForceCodecV2(rawCodec{meter: &l.meter}),
		),
	}
}
