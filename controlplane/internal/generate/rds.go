package generate

import (
	"cmp"
	"net"
	"net/http"
	"slices"

	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// RouteTarget is a service port that speaks HTTP.
type RouteTarget struct {
	Service *kube.Service
	Port    uint32
	Rules   *kube.VirtualService // nil for one route to all of the service
}

// RouteScope is which route configuration is meant, and for whom.
type RouteScope struct {
	Name         string
	Namespace    string // of the proxy
	RegistryOnly bool   // unknown hosts are not let through
}

// Route returns the route configuration of a port: a virtual host per service, and
// one for unknown hosts. A name that is the port of no service gets the latter alone.
func Route(enc *xds.Encoder, scope RouteScope, targets []RouteTarget) *discovery.Resource {
	config := &route.RouteConfiguration{
		Name:                           scope.Name,
		ValidateClusters:               wrapperspb.Bool(false),
		MaxDirectResponseBodySizeBytes: wrapperspb.UInt32(1 << 20),
		IgnorePortInHostMatching:       true,
	}
	for _, target := range targets {
		config.VirtualHosts = append(config.VirtualHosts, virtualHost(target, scope.Namespace))
	}
	slices.SortFunc(config.GetVirtualHosts(), func(a, b *route.VirtualHost) int {
		return cmp.Compare(a.GetName(), b.GetName())
	})
	config.VirtualHosts = append(config.VirtualHosts, unknownHosts(scope.RegistryOnly))
	return enc.Encode(scope.Name, config)
}

// unknownHosts is the virtual host of requests for no service of the mesh.
func unknownHosts(registryOnly bool) *route.VirtualHost {
	host := &route.VirtualHost{
		Name:                       "allow_any",
		Domains:                    []string{"*"},
		IncludeRequestAttemptCount: true,
		Routes:                     []*route.Route{prefixRoute("allow_any", passthroughCluster)},
	}
	if registryOnly {
		host.Name = "block_all"
		host.Routes = []*route.Route{{
			Name:   "block_all",
			Match:  host.GetRoutes()[0].GetMatch(),
			Action: &route.Route_DirectResponse{DirectResponse: &route.DirectResponseAction{Status: http.StatusBadGateway}},
		}}
	}
	return host
}

func virtualHost(target RouteTarget, namespace string) *route.VirtualHost {
	host := target.Service.Hostname()
	number := decimal(target.Port)
	rules := []kube.HTTPRoute{{Name: "default"}}
	if target.Rules != nil {
		rules = target.Rules.Routes
	}
	var routes []*route.Route
	for _, rule := range rules {
		r := prefixRoute(rule.Name, subsetName(target.Service, target.Port, rule.Subset))
		r.GetRoute().Timeout = durationpb.New(rule.Timeout)
		r.Decorator = &route.Decorator{Operation: host + ":" + number + "/*"}
		routes = append(routes, r)
	}
	return &route.VirtualHost{
		Name:                       VirtualHostName(target.Service, target.Port),
		Domains:                    domains(target.Service, namespace),
		IncludeRequestAttemptCount: true,
		Routes:                     routes,
	}
}

// VirtualHostName is the name of the virtual host of a service port.
func VirtualHostName(s *kube.Service, port uint32) string {
	return net.JoinHostPort(s.Hostname(), decimal(port))
}

// domains are the names by which a client may call s: the full one, the ones
// that a pod's DNS search path completes (the bare name within the same
// namespace only), and the cluster IP.
func domains(s *kube.Service, namespace string) []string {
	names := []string{s.Hostname()}
	if s.Name.Namespace == namespace {
		names = append(names, s.Name.Name)
	}
	short := s.Name.Name + "." + s.Name.Namespace
	names = append(names, short+".svc", short)
	if s.Headless {
		names = append(names, "*."+s.Hostname())
	}
	if s.Address != "" {
		names = append(names, s.Address)
	}
	return names
}

func prefixRoute(name, clusterName string) *route.Route {
	return &route.Route{
		Name:  name,
		Match: &route.RouteMatch{PathSpecifier: &route.RouteMatch_Prefix{Prefix: "/"}},
		Action: &route.Route_Route{Route: &route.RouteAction{
			ClusterSpecifier: &route.RouteAction_Cluster{Cluster: clusterName},
			Timeout:          durationpb.New(0),
			RetryPolicy:      retryPolicy(),
		}},
	}
}

func retryPolicy() *route.RetryPolicy {
	return &route.RetryPolicy{
		RetryOn:                       "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes",
		NumRetries:                    wrapperspb.UInt32(2),
		RetriableStatusCodes:          []uint32{503},
		HostSelectionRetryMaxAttempts: 5,
		RetryHostPredicate: []*route.RetryPolicy_RetryHostPredicate{{
			Name: "envoy.retry_host_predicates.previous_hosts",
		}},
	}
}

// inlineRoute is the route configuration that an inbound listener carries.
func inlineRoute(port InboundPort) *route.RouteConfiguration {
	name := inboundName(port.Number)
	r := prefixRoute("default", name)
	r.GetRoute().RetryPolicy = nil
	r.Decorator = &route.Decorator{Operation: port.Service.Hostname() + ":" +
		decimal(port.ServicePort) + "/*"}
	return &route.RouteConfiguration{
		Name:             name,
		ValidateClusters: wrapperspb.Bool(false),
		VirtualHosts: []*route.VirtualHost{{
			Name:    "inbound|http|" + decimal(port.ServicePort),
			Domains: []string{"*"},
			Routes:  []*route.Route{r},
		}},
	}
}
