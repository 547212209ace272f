package controlplane

import (
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/stream/v3"
)

// sotwStream and deltaStream stand between go-control-plane's server and gRPC.
// They put the shared bytes of the resources into the responses, and tell the
// connection when each has left.
type sotwStream struct {
	discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer
	conn *connection
}

type deltaStream struct {
	discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer
	conn *connection
}

var (
	_ stream.Stream      = (*sotwStream)(nil)
	_ stream.DeltaStream = (*deltaStream)(nil)
)

// Send sends the response that the connection has put into the server's
// channel last; message is its head.
func (s *sotwStream) Send(message *discovery.DiscoveryResponse) error {
	return s.conn.send(message.GetNonce(), func(content *bundle) error {
		return s.SendMsg(&outgoing{head: message, shared: content.sotwBytes()})
	})
}

// Recv returns the next request without its resource names. The connection
// gets them as a set; the server would build a map of them for every ACK.
func (s *sotwStream) Recv() (*discovery.DiscoveryRequest, error) {
	in := &incoming{interner: s.conn.server.names}
	if err := s.RecvMsg(in); err != nil {
		return nil, err
	}
	s.conn.received(in)
	return in.request, nil
}

// Send is as sotwStream's.
func (s *deltaStream) Send(message *discovery.DeltaDiscoveryResponse) error {
	return s.conn.send(message.GetNonce(), func(content *bundle) error {
		return s.SendMsg(&outgoing{head: message, shared: content.deltaBytes()})
	})
}

// Recv returns the next request, with strings that all streams share.
func (s *deltaStream) Recv() (*discovery.DeltaDiscoveryRequest, error) {
	req, err := s.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Recv()
	s.conn.server.canonical(req.GetResourceNamesSubscribe())
	return req, err
}
