package controlplane

import (
	"context"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

// response is one message on its way to a proxy. Its resources are shared with
// the responses to other proxies.
type response struct {
	kind    xdsType
	content *bundle
	removed []string // Delta only
	version string
	took    time.Duration // to build
	push    *inFlight     // the push it belongs to; nil for an answer to a request
	first   bool          // of its push
}

// identify is the control plane's name in every response.
func identify() *core.ControlPlane {
	return &core.ControlPlane{Identifier: "xdsbench-controlplane"}
}

// sotwResponse lets go-control-plane's SotW server send a response. The server
// writes the nonce into the message, so each response has its own. The message
// holds no resources: the stream adds them, encoded already.
type sotwResponse struct {
	*response
	message *discovery.DiscoveryResponse
	request *discovery.DiscoveryRequest
}

var _ cache.Response = (*sotwResponse)(nil)

func newSotwResponse(r *response, request *discovery.DiscoveryRequest, identity *core.ControlPlane) *sotwResponse {
	return &sotwResponse{
		response: r,
		request:  request,
		message: &discovery.DiscoveryResponse{
			VersionInfo:  r.version,
			TypeUrl:      r.kind.url(),
			ControlPlane: identity,
		},
	}
}

func (r *sotwResponse) GetDiscoveryResponse() (*discovery.DiscoveryResponse, error) {
	return r.message, nil
}

func (r *sotwResponse) GetRequest() *discovery.DiscoveryRequest { return r.request }
func (r *sotwResponse) GetVersion() (string, error)             { return r.version, nil }
func (r *sotwResponse) GetResponseVersion() string              { return r.version }
func (r *sotwResponse) GetContext() context.Context             { return context.Background() }

// GetReturnedResources is empty: connections keep track themselves of what
// their proxies were sent. It must be a map that the server may write to.
func (r *sotwResponse) GetReturnedResources() map[string]string { return map[string]string{} }

// deltaResponse is the same for the Delta server.
type deltaResponse struct {
	*response
	message *discovery.DeltaDiscoveryResponse
	request *discovery.DeltaDiscoveryRequest
}

var _ cache.DeltaResponse = (*deltaResponse)(nil)

func newDeltaResponse(r *response, request *discovery.DeltaDiscoveryRequest, identity *core.ControlPlane) *deltaResponse {
	return &deltaResponse{
		response: r,
		request:  request,
		message: &discovery.DeltaDiscoveryResponse{
			SystemVersionInfo: r.version,
			RemovedResources:  r.removed,
			TypeUrl:           r.kind.url(),
			ControlPlane:      identity,
		},
	}
}

func (r *deltaResponse) GetDeltaDiscoveryResponse() (*discovery.DeltaDiscoveryResponse, error) {
	return r.message, nil
}

func (r *deltaResponse) GetDeltaRequest() *discovery.DeltaDiscoveryRequest { return r.request }
func (r *deltaResponse) GetSystemVersion() (string, error)                 { return r.version, nil }
func (r *deltaResponse) GetResponseVersion() string                        { return r.version }
func (r *deltaResponse) GetContext() context.Context                       { return context.Background() }

// GetNextVersionMap and GetReturnedResources are as sotwResponse's.
func (r *deltaResponse) GetNextVersionMap() map[string]string    { return map[string]string{} }
func (r *deltaResponse) GetReturnedResources() map[string]string { return map[string]string{} }
