package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	clusterpb "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerpb "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routepb "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoverypb "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/anypb"
)

// receiveTimeout bounds the wait for one response.
const receiveTimeout = 10 * time.Second

// response is what a test looks at of a response of either variant.
type response struct {
	typeURL   string
	resources map[string]any // by name
	removed   []string
}

func (r response) names() []string { return slices.Sorted(maps.Keys(r.resources)) }

// addresses returns the endpoints of the only resource of an EDS response.
func (r response) addresses(t *testing.T) []string {
	t.Helper()
	if r.typeURL != resource.EndpointType || len(r.resources) != 1 {
		t.Fatalf("want one EDS resource, got %+v", r)
	}
	var list []string
	for _, res := range r.resources {
		assignment, ok := res.(*endpointpb.ClusterLoadAssignment)
		if !ok {
			t.Fatalf("an EDS resource is a %T", res)
		}
		for _, e := range endpoints(assignment) {
			a := e.GetEndpoint().GetAddress().GetSocketAddress()
			list = append(list, fmt.Sprintf("%s:%d", a.GetAddress(), a.GetPortValue()))
		}
	}
	return list
}

// adsClient is a scripted proxy of either variant, which ACKs all it receives.
type adsClient interface {
	subscribe(t *testing.T, typeURL string, names ...string)
	receive(t *testing.T) response
	// receiveWhile repeats an action until a response arrives.
	receiveWhile(t *testing.T, action func()) response
	// known lists the resources of a type that the proxy holds.
	known(typeURL string) []string
}

// client is what both variants share.
type client struct {
	responses chan response
	held      map[string]map[string]bool // names by type URL

	// sending guards the stream's Send: the test subscribes, the pump ACKs.
	sending sync.Mutex
}

func newClient() *client {
	return &client{responses: make(chan response), held: map[string]map[string]bool{}}
}

// send sends a request by a stream's Send.
func send[R any](c *client, sendOn func(R) error, request R) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return sendOn(request)
}

func (c *client) known(typeURL string) []string {
	return slices.Collect(maps.Keys(c.held[typeURL]))
}

func (c *client) receive(t *testing.T) response {
	t.Helper()
	return c.receiveWhile(t, func() {})
}

func (c *client) receiveWhile(t *testing.T, action func()) response {
	t.Helper()
	for range int(receiveTimeout / (100 * time.Millisecond)) {
		action()
		select {
		case r, ok := <-c.responses:
			if !ok {
				t.Fatal("the stream has ended")
			}
			c.hold(r)
			return r
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatalf("no response within %s", receiveTimeout)
	return response{}
}

// hold updates the names held. A SotW response has no removed names; for CDS and
// LDS it is the whole state.
func (c *client) hold(r response) {
	held := c.held[r.typeURL]
	if held == nil || r.removed == nil && (r.typeURL == resource.ClusterType || r.typeURL == resource.ListenerType) {
		held = map[string]bool{}
		c.held[r.typeURL] = held
	}
	for name := range r.resources {
		held[name] = true
	}
	for _, name := range r.removed {
		delete(held, name)
	}
}

// dial connects to the server until the end of the test.
func dial(t *testing.T, address string) (context.Context, discoverypb.AggregatedDiscoveryServiceClient) {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		_ = conn.Close()
	})
	return ctx, discoverypb.NewAggregatedDiscoveryServiceClient(conn)
}

type sotwClient struct {
	*client
	stream discoverypb.AggregatedDiscoveryService_StreamAggregatedResourcesClient
}

func openSotW(t *testing.T, address string) adsClient {
	t.Helper()
	ctx, ads := dial(t, address)
	stream, err := ads.StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c := &sotwClient{client: newClient(), stream: stream}
	c.pump(ctx, t, func() (response, error) {
		r, err := stream.Recv()
		if err != nil {
			return response{}, err
		}
		out := response{typeURL: r.GetTypeUrl(), resources: map[string]any{}}
		for _, res := range r.GetResources() {
			name, m := decode(t, res)
			out.resources[name] = m
		}
		names := []string(nil)
		if r.GetTypeUrl() == resource.EndpointType || r.GetTypeUrl() == resource.RouteType {
			names = out.names()
		}
		return out, send(c.client, stream.Send, &discoverypb.DiscoveryRequest{
			TypeUrl: r.GetTypeUrl(), VersionInfo: r.GetVersionInfo(), ResponseNonce: r.GetNonce(), ResourceNames: names,
		})
	})
	return c
}

// pump receives and ACKs on a goroutine that ends with the stream.
func (c *client) pump(ctx context.Context, t *testing.T, next func() (response, error)) {
	t.Helper()
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		defer close(c.responses)
		for {
			r, err := next()
			if err != nil {
				return
			}
			select {
			case c.responses <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
}

func (c *sotwClient) subscribe(t *testing.T, typeURL string, names ...string) {
	t.Helper()
	err := send(c.client, c.stream.Send, &discoverypb.DiscoveryRequest{
		Node: &corepb.Node{Id: "test"}, TypeUrl: typeURL, ResourceNames: names,
	})
	if err != nil {
		t.Fatal(err)
	}
}

type deltaClient struct {
	*client
	stream discoverypb.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
}

func openDelta(t *testing.T, address string) adsClient {
	t.Helper()
	ctx, ads := dial(t, address)
	stream, err := ads.DeltaAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c := &deltaClient{client: newClient(), stream: stream}
	c.pump(ctx, t, func() (response, error) {
		r, err := stream.Recv()
		if err != nil {
			return response{}, err
		}
		out := response{
			typeURL: r.GetTypeUrl(), resources: map[string]any{}, removed: append([]string{}, r.GetRemovedResources()...),
		}
		for _, res := range r.GetResources() {
			name, m := decode(t, res.GetResource())
			if name != res.GetName() {
				t.Errorf("the resource %q is wrapped as %q", name, res.GetName())
			}
			out.resources[name] = m
		}
		return out, send(c.client, stream.Send, &discoverypb.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()})
	})
	return c
}

func (c *deltaClient) subscribe(t *testing.T, typeURL string, names ...string) {
	t.Helper()
	err := send(c.client, c.stream.Send, &discoverypb.DeltaDiscoveryRequest{
		Node: &corepb.Node{Id: "test"}, TypeUrl: typeURL, ResourceNamesSubscribe: names,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// decode returns a resource and its name, and checks it against its proto's rules.
func decode(t *testing.T, res *anypb.Any) (string, any) {
	t.Helper()
	m, err := res.UnmarshalNew()
	if err != nil {
		t.Error(err)
		return "", nil
	}
	if v, ok := m.(interface{ ValidateAll() error }); ok {
		if err := v.ValidateAll(); err != nil {
			t.Errorf("%s: %v", res.GetTypeUrl(), err)
		}
	}
	switch m := m.(type) {
	case *clusterpb.Cluster:
		return m.GetName(), m
	case *endpointpb.ClusterLoadAssignment:
		return m.GetClusterName(), m
	case *listenerpb.Listener:
		return m.GetName(), m
	case *routepb.RouteConfiguration:
		return m.GetName(), m
	}
	t.Errorf("%s: %v", cmp.Or(res.GetTypeUrl(), "no type"), m)
	return "", nil
}
