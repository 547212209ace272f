package controlplane

import (
	"cmp"
	"net"
	"slices"
	"strconv"

	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// routeTarget is a service port that speaks HTTP.
type routeTarget struct {
	service *service
	port    uint32
}

// generateRoute returns the route configuration of a port as a proxy in
// namespace sees it: a virtual host per service, and one that lets unknown
// hosts through. Names that are no port of any service get the latter alone.
func generateRoute(enc *encoder, name, namespace string, targets []routeTarget) *encoded {
	config := &route.RouteConfiguration{
		Name:                           name,
		ValidateClusters:               wrapperspb.Bool(false),
		MaxDirectResponseBodySizeBytes: wrapperspb.UInt32(1 << 20),
		IgnorePortInHostMatching:       true,
	}
	for _, target := range targets {
		config.VirtualHosts = append(config.VirtualHosts, virtualHost(target, namespace))
	}
	slices.SortFunc(config.GetVirtualHosts(), func(a, b *route.VirtualHost) int {
		return cmp.Compare(a.GetName(), b.GetName())
	})
	config.VirtualHosts = append(config.VirtualHosts, &route.VirtualHost{
		Name:                       "allow_any",
		Domains:                    []string{"*"},
		IncludeRequestAttemptCount: true,
		Routes:                     []*route.Route{prefixRoute("allow_any", passthroughCluster)},
	})
	return enc.encode(typeRDS, name, config)
}

func virtualHost(target routeTarget, namespace string) *route.VirtualHost {
	host := target.service.hostname()
	number := strconv.FormatUint(uint64(target.port), 10)
	r := prefixRoute("default", outboundName(target.service, target.port))
	r.Decorator = &route.Decorator{Operation: host + ":" + number + "/*"}
	return &route.VirtualHost{
		Name:                       net.JoinHostPort(host, number),
		Domains:                    domains(target.service, namespace),
		IncludeRequestAttemptCount: true,
		Routes:                     []*route.Route{r},
	}
}

// domains are the names by which a client may call s: the full one, the ones
// that a pod's DNS search path completes (the bare name within the same
// namespace only), and the cluster IP.
func domains(s *service, namespace string) []string {
	names := []string{s.hostname()}
	if s.key.namespace == namespace {
		names = append(names, s.key.name)
	}
	short := s.key.name + "." + s.key.namespace
	names = append(names, short+".svc", short)
	if s.headless {
		names = append(names, "*."+s.hostname())
	}
	if s.address != "" {
		names = append(names, s.address)
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
func inlineRoute(port inboundPort) *route.RouteConfiguration {
	name := inboundName(port.number)
	r := prefixRoute("default", name)
	r.GetRoute().RetryPolicy = nil
	r.Decorator = &route.Decorator{Operation: port.service.hostname() + ":" +
		strconv.FormatUint(uint64(port.servicePort), 10) + "/*"}
	return &route.RouteConfiguration{
		Name:             name,
		ValidateClusters: wrapperspb.Bool(false),
		VirtualHosts: []*route.VirtualHost{{
			Name:    "inbound|http|" + strconv.FormatUint(uint64(port.servicePort), 10),
			Domains: []string{"*"},
			Routes:  []*route.Route{r},
		}},
	}
}
