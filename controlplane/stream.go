package controlplane

import (
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/stream/v3"
)

// sotwStream and deltaStream stand between go-control-plane's server and gRPC:
// they time each send, and tell the connection when it is over.
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

func (s *sotwStream) Send(message *discovery.DiscoveryResponse) error {
	return s.conn.send(message.GetNonce(), func() error {
		return s.AggregatedDiscoveryService_StreamAggregatedResourcesServer.Send(message)
	})
}

func (s *sotwStream) Recv() (*discovery.DiscoveryRequest, error) {
	req, err := s.AggregatedDiscoveryService_StreamAggregatedResourcesServer.Recv()
	s.conn.server.canonical(req.GetResourceNames())
	return req, err
}

func (s *deltaStream) Send(message *discovery.DeltaDiscoveryResponse) error {
	return s.conn.send(message.GetNonce(), func() error {
		return s.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Send(message)
	})
}

func (s *deltaStream) Recv() (*discovery.DeltaDiscoveryRequest, error) {
	req, err := s.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Recv()
	s.conn.server.canonical(req.GetResourceNamesSubscribe())
	return req, err
}
