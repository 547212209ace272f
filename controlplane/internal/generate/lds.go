package generate

import (
	"fmt"
	"slices"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	router "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	originaldst "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/original_dst/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcp "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/wellknown"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

const (
	anyAddress          = "0.0.0.0"
	outboundCapturePort = 15001 // where captured outbound connections arrive
	inboundCapturePort  = 15006 // where captured inbound connections arrive
)

// HTTPListener returns the listener that all HTTP services on a port share; its
// route configuration decides which of them is meant.
func HTTPListener(enc *xds.Encoder, port uint32) *discovery.Resource {
	return outboundListener(enc, anyAddress, port, httpChain(enc, anyAddress, port))
}

func httpChain(enc *xds.Encoder, address string, port uint32) *listener.FilterChain {
	name := RouteName(port)
	manager := connectionManager(enc, "outbound_"+address+"_"+name)
	manager.RouteSpecifier = &hcm.HttpConnectionManager_Rds{
		Rds: &hcm.Rds{ConfigSource: adsSource(), RouteConfigName: name},
	}
	return &listener.FilterChain{
		Filters: []*listener.Filter{filter(enc, wellknown.HTTPConnectionManager, manager)},
	}
}

// EgressListener returns the listener of an egress entry with a port. A TCP one
// leads to a service, or nowhere if there is none.
func EgressListener(enc *xds.Encoder, e *kube.Egress, to *kube.Service) *discovery.Resource {
	switch {
	case e.Protocol.IsHTTP():
		return outboundListener(enc, e.Bind, e.Port, httpChain(enc, e.Bind, e.Port))
	case to == nil:
		return outboundListener(enc, e.Bind, e.Port, tcpChain(enc, blackHoleCluster))
	default:
		return outboundListener(enc, e.Bind, e.Port, tcpChain(enc, ClusterName(to, e.Port)))
	}
}

// TCPListeners returns the listeners of the TCP ports of s: one on its cluster IP,
// or for a headless service one on the address of each usable endpoint. A service
// that still waits for its cluster IP has none.
func TCPListeners(
	enc *xds.Encoder, s *kube.Service, parts []*kube.EndpointSlice, nodes map[string]kube.Locality,
) []*discovery.Resource {
	var out []*discovery.Resource
	for _, port := range s.Ports {
		if port.Protocol.IsHTTP() {
			continue
		}
		addresses := []string{s.Address}
		if s.Headless {
			addresses = usableAddresses(kube.EndpointsOf(port, parts, nodes))
		}
		name := ClusterName(s, port.Number)
		for _, address := range addresses {
			if address != "" {
				out = append(out, outboundListener(enc, address, port.Number, tcpChain(enc, name)))
			}
		}
	}
	return out
}

func usableAddresses(endpoints []kube.Endpoint) []string {
	var out []string
	for _, e := range endpoints {
		if e.Healthy {
			out = append(out, e.Address)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// outboundListener does not bind: virtualOutbound hands over the connections
// whose original destination it matches.
func outboundListener(enc *xds.Encoder, address string, port uint32, chain *listener.FilterChain) *discovery.Resource {
	name := fmt.Sprintf("%s_%d", address, port)
	return enc.Encode(name, &listener.Listener{
		Name:                             name,
		Address:                          socketAddress(address, port),
		FilterChains:                     []*listener.FilterChain{chain},
		TrafficDirection:                 core.TrafficDirection_OUTBOUND,
		BindToPort:                       wrapperspb.Bool(false),
		ContinueOnListenerFiltersTimeout: true,
	})
}

// VirtualOutbound returns the listener to which all outbound connections are
// redirected.
func VirtualOutbound(enc *xds.Encoder) *discovery.Resource {
	chain := tcpChain(enc, passthroughCluster)
	chain.Name = "virtualOutbound-catchall-tcp"
	return enc.Encode(virtualOutbound, &listener.Listener{
		Name:             virtualOutbound,
		Address:          socketAddress(anyAddress, outboundCapturePort),
		FilterChains:     []*listener.FilterChain{chain},
		UseOriginalDst:   wrapperspb.Bool(true),
		TrafficDirection: core.TrafficDirection_OUTBOUND,
	})
}

// VirtualInbound returns the listener for connections to the workload: a chain
// per port that a service leads to, and one for all others.
func VirtualInbound(enc *xds.Encoder, ports []InboundPort) *discovery.Resource {
	l := &listener.Listener{
		Name:             virtualInbound,
		Address:          socketAddress(anyAddress, inboundCapturePort),
		TrafficDirection: core.TrafficDirection_INBOUND,
		ListenerFilters: []*listener.ListenerFilter{{
			Name: wellknown.OriginalDestination,
			ConfigType: &listener.ListenerFilter_TypedConfig{
				TypedConfig: enc.Pack(&originaldst.OriginalDst{}),
			},
		}},
		ContinueOnListenerFiltersTimeout: true,
	}
	for _, port := range ports {
		l.FilterChains = append(l.FilterChains, inboundChain(enc, port))
	}
	l.DefaultFilterChain = tcpChain(enc, inboundPassthrough)
	l.DefaultFilterChain.Name = "virtualInbound-catchall"
	return enc.Encode(virtualInbound, l)
}

func inboundChain(enc *xds.Encoder, port InboundPort) *listener.FilterChain {
	name := inboundName(port.Number)
	chain := tcpChain(enc, name)
	if port.Protocol.IsHTTP() {
		manager := connectionManager(enc, "inbound_0.0.0.0_"+decimal(port.Number))
		manager.RouteSpecifier = &hcm.HttpConnectionManager_RouteConfig{RouteConfig: inlineRoute(port)}
		chain.Filters = []*listener.Filter{filter(enc, wellknown.HTTPConnectionManager, manager)}
	}
	chain.Name = name
	chain.FilterChainMatch = &listener.FilterChainMatch{DestinationPort: wrapperspb.UInt32(port.Number)}
	return chain
}

func connectionManager(enc *xds.Encoder, statPrefix string) *hcm.HttpConnectionManager {
	return &hcm.HttpConnectionManager{
		StatPrefix:        statPrefix,
		UseRemoteAddress:  wrapperspb.Bool(false),
		NormalizePath:     wrapperspb.Bool(true),
		StreamIdleTimeout: durationpb.New(0),
		HttpFilters: []*hcm.HttpFilter{{
			Name:       wellknown.Router,
			ConfigType: &hcm.HttpFilter_TypedConfig{TypedConfig: enc.Pack(&router.Router{})},
		}},
	}
}

func tcpChain(enc *xds.Encoder, clusterName string) *listener.FilterChain {
	return &listener.FilterChain{Filters: []*listener.Filter{
		filter(enc, wellknown.TCPProxy, &tcp.TcpProxy{
			StatPrefix:       clusterName,
			ClusterSpecifier: &tcp.TcpProxy_Cluster{Cluster: clusterName},
		}),
	}}
}

func filter(enc *xds.Encoder, name string, config proto.Message) *listener.Filter {
	return &listener.Filter{
		Name:       name,
		ConfigType: &listener.Filter_TypedConfig{TypedConfig: enc.Pack(config)},
	}
}
