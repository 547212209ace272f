package adsconn

import (
	"context"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsbench/xdsbench/internal/address"
)

// grpcClient is a connection of grpc-go.
type grpcClient struct {
	cc      *grpc.ClientConn
	senders *senders
}

func newGRPCClient(c *Conn, to address.Address) (client, error) {
	cc, err := grpc.NewClient("passthrough:///"+authority(to),
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
	)
	if err != nil {
		return nil, err
	}
	return &grpcClient{cc: cc, senders: c.transport.senders}, nil
}

// open opens a stream. grpc-go makes a connection anew where it has to.
func (g *grpcClient) open(ctx context.Context, method string) (carrier, error) {
	s, err := g.cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return nil, err
	}
	return &outbox{stream: s, senders: g.senders}, nil
}

func (g *grpcClient) usable() bool { return true }

func (g *grpcClient) close() error { return g.cc.Close() }
