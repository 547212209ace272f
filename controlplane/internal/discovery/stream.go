package discovery

import (
	"context"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/stream/v3"

	"github.com/xdsbench/xdsbench/controlplane/internal/wire"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
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

// Send sends the response that the connection has put into the server's channel
// last; message is all of it but the resources.
func (s *sotwStream) Send(message *discovery.DiscoveryResponse) error {
	return s.conn.send(message.GetNonce(), func(content *xds.Bundle) error {
		return s.SendMsg(&wire.Response{Message: message, Resources: content.SotW()})
	})
}

// Recv returns the next request without its resource names. The connection
// gets them as a set; the server would build a map of them for every ACK.
func (s *sotwStream) Recv() (*discovery.DiscoveryRequest, error) {
	request := &wire.Request{Interner: s.conn.server.interner}
	if err := s.RecvMsg(request); err != nil {
		return nil, err
	}
	s.conn.received(request)
	return request.Message, nil
}

// Send does as sotwStream's.
func (s *deltaStream) Send(message *discovery.DeltaDiscoveryResponse) error {
	return s.conn.send(message.GetNonce(), func(content *xds.Bundle) error {
		return s.SendMsg(&wire.Response{Message: message, Resources: content.Delta()})
	})
}

// Recv returns the next request. Each stream keeps the names it subscribes to;
// so that all of them keep the same strings, known names are replaced by the
// snapshot's.
func (s *deltaStream) Recv() (*discovery.DeltaDiscoveryRequest, error) {
	request, err := s.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Recv()
	names, current := request.GetResourceNamesSubscribe(), s.conn.server.snapshot.Load()
	for i, name := range names {
		if known := current.Assignment(name); known != nil {
			names[i] = known.GetName()
		}
	}
	return request, err
}

// sotwMessage is what the server handles of a response. It holds no resources:
// the stream adds them, encoded already. The server writes the nonce into the
// message, so each response has its own, and may write to the map of returned
// resources, which is not used: connections keep track themselves.
func sotwMessage(r *response) cache.Response {
	return &cache.PassthroughResponse{
		Request: &discovery.DiscoveryRequest{TypeUrl: r.kind.URL()},
		DiscoveryResponse: &discovery.DiscoveryResponse{
			VersionInfo: r.version, TypeUrl: r.kind.URL(), ControlPlane: identity(),
		},
		ReturnedResources: make(map[string]string),
	}
}

// deltaMessage does as sotwMessage.
func deltaMessage(r *response) cache.DeltaResponse {
	return &cache.DeltaPassthroughResponse{
		DeltaRequest: &discovery.DeltaDiscoveryRequest{TypeUrl: r.kind.URL()},
		DeltaDiscoveryResponse: &discovery.DeltaDiscoveryResponse{
			SystemVersionInfo: r.version, TypeUrl: r.kind.URL(), ControlPlane: identity(), RemovedResources: r.removed,
		},
		NextVersionMap: make(map[string]string),
	}
}

func identity() *core.ControlPlane {
	return &core.ControlPlane{Identifier: "xdsbench-controlplane"}
}

// Fetch refuses REST requests, which the server does not serve.
func (c *connection) Fetch(context.Context, *cache.Request) (cache.Response, error) {
	return nil, errNoFetch
}
