package controlplane_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// resourceMessage is any of the four kinds of resources; all have rules.
type resourceMessage interface {
	proto.Message
	ValidateAll() error
}

// decode unpacks resources by name, and checks each against its proto's rules.
func decode[T resourceMessage](t *testing.T, list []*anypb.Any, name func(T) string) map[string]T {
	t.Helper()
	out := make(map[string]T, len(list))
	for _, wrapped := range list {
		message, err := wrapped.UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		typed, ok := message.(T)
		if !ok {
			t.Fatalf("resource is a %T", message)
		}
		if err := typed.ValidateAll(); err != nil {
			t.Errorf("invalid resource: %v", err)
		}
		if _, twice := out[name(typed)]; twice {
			t.Errorf("resource %q is there twice", name(typed))
		}
		out[name(typed)] = typed
	}
	return out
}

func clusters(t *testing.T, list []*anypb.Any) map[string]*cluster.Cluster {
	t.Helper()
	return decode(t, list, (*cluster.Cluster).GetName)
}

func assignments(t *testing.T, list []*anypb.Any) map[string]*endpoint.ClusterLoadAssignment {
	t.Helper()
	return decode(t, list, (*endpoint.ClusterLoadAssignment).GetClusterName)
}

func listeners(t *testing.T, list []*anypb.Any) map[string]*listener.Listener {
	t.Helper()
	return decode(t, list, (*listener.Listener).GetName)
}

func routes(t *testing.T, list []*anypb.Any) map[string]*route.RouteConfiguration {
	t.Helper()
	return decode(t, list, (*route.RouteConfiguration).GetName)
}

// unwrap takes the resources out of their Delta wrapping, whose names must
// agree with theirs and whose versions must be set.
func unwrap(t *testing.T, list []*discovery.Resource) []*anypb.Any {
	t.Helper()
	out := make([]*anypb.Any, 0, len(list))
	for _, r := range list {
		if r.GetName() == "" || r.GetVersion() == "" {
			t.Errorf("resource has name %q and version %q", r.GetName(), r.GetVersion())
		}
		out = append(out, r.GetResource())
	}
	return out
}

func deltaNames(list []*discovery.Resource) []string {
	var out []string
	for _, r := range list {
		out = append(out, r.GetName())
	}
	slices.Sort(out)
	return out
}

// describe lists endpoints as "region/zone address:port HEALTH".
func describe(assignment *endpoint.ClusterLoadAssignment) []string {
	out := []string{}
	for _, group := range assignment.GetEndpoints() {
		for _, e := range group.GetLbEndpoints() {
			address := e.GetEndpoint().GetAddress().GetSocketAddress()
			out = append(out, fmt.Sprintf("%s/%s %s:%d %s", group.GetLocality().GetRegion(),
				group.GetLocality().GetZone(), address.GetAddress(), address.GetPortValue(), e.GetHealthStatus()))
		}
	}
	return out
}

func equalStrings(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func assignmentOf(t *testing.T, wrapped *anypb.Any) *endpoint.ClusterLoadAssignment {
	t.Helper()
	a := &endpoint.ClusterLoadAssignment{}
	if err := wrapped.UnmarshalTo(a); err != nil {
		t.Error(err)
	}
	return a
}

func sameBytes(a, b *anypb.Any) bool { return bytes.Equal(a.GetValue(), b.GetValue()) }
