package adsconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/mem"

	"github.com/xdsbench/xdsbench/internal/address"
)

// dialer returns a grpc.WithContextDialer function that connects to an address,
// whatever name grpc-go gives it.
func (c *Conn) dialer(to address.Address) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		s, err := c.dial(ctx, to)
		if err != nil {
			return nil, err
		}
		return &grpcSocket{socket: s, frames: frameWriter{to: counting{s}, pool: mem.DefaultBufferPool()}}, nil
	}
}

// dial connects. ctx ends after connectTimeout.
func (c *Conn) dial(ctx context.Context, to address.Address) (*socket, error) {
	d := net.Dialer{KeepAlive: -1}
	if c.cfg.Source.IsValid() && to.Network == "tcp" {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.cfg.Source, 0))
		d.ControlContext = bindWithoutPort
	}
	conn, err := d.DialContext(ctx, to.Network, to.Endpoint)
	if err != nil {
		return nil, err
	}
	s, err := newSocket(conn, &c.meter, c.cfg)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connection to %s: %w", to, err), conn.Close())
	}
	c.socket.Store(s)
	return s, nil
}

// bindWithoutPort leaves the choice of the port to connect, which knows the target,
// so that one source address gives its whole port range to each target.
func bindWithoutPort(_ context.Context, _, _ string, c syscall.RawConn) error {
	var opt error
	err := c.Control(func(fd uintptr) {
		opt = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	})
	return errors.Join(err, opt)
}
