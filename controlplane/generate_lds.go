package controlplane

import (
	"fmt"
	"strconv"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	router "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	originaldst "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/original_dst/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcp "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"github.com/envoyproxy/go-control-plane/pkg/wellknown"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	anyAddress          = "0.0.0.0"
	outboundCapturePort = 15001 // where captured outbound connections arrive
	inboundCapturePort  = 15006 // where captured inbound connections arrive
)

func listenerName(address string, port uint32) string {
	return fmt.Sprintf("%s_%d", address, port)
}

// generateHTTPListener returns the listener that all HTTP services on a port
// share; which of them is meant, its route configuration decides.
func generateHTTPListener(enc *encoder, port uint32) *encoded {
	name := strconv.FormatUint(uint64(port), 10)
	manager := connectionManager(enc, "outbound_0.0.0.0_"+name)
	manager.RouteSpecifier = &hcm.HttpConnectionManager_Rds{
		Rds: &hcm.Rds{ConfigSource: adsSource(), RouteConfigName: name},
	}
	return captured(enc, anyAddress, port, &listener.FilterChain{
		Filters: []*listener.Filter{filter(enc, wellknown.HTTPConnectionManager, manager)},
	})
}

// generateTCPListeners returns a listener per TCP port of s: on its cluster
// IP, or for a headless service on all addresses. A service that still waits
// for its cluster IP has none.
func generateTCPListeners(enc *encoder, s *service) []*encoded {
	address := s.address
	if s.headless {
		address = anyAddress
	}
	if address == "" {
		return nil
	}
	var out []*encoded
	for _, port := range s.ports {
		if port.protocol.isHTTP() {
			continue
		}
		name := outboundName(s, port.number)
		out = append(out, captured(enc, address, port.number, tcpChain(enc, name)))
	}
	return out
}

// captured is a listener that does not bind: virtualOutbound hands over the
// connections whose original destination it matches.
func captured(enc *encoder, address string, port uint32, chain *listener.FilterChain) *encoded {
	name := listenerName(address, port)
	return enc.encode(typeLDS, name, &listener.Listener{
		Name:                             name,
		Address:                          socketAddress(address, port),
		FilterChains:                     []*listener.FilterChain{chain},
		TrafficDirection:                 core.TrafficDirection_OUTBOUND,
		BindToPort:                       wrapperspb.Bool(false),
		ContinueOnListenerFiltersTimeout: true,
	})
}

func generateVirtualOutbound(enc *encoder) *encoded {
	chain := tcpChain(enc, passthroughCluster)
	chain.Name = "virtualOutbound-catchall-tcp"
	return enc.encode(typeLDS, virtualOutbound, &listener.Listener{
		Name:             virtualOutbound,
		Address:          socketAddress(anyAddress, outboundCapturePort),
		FilterChains:     []*listener.FilterChain{chain},
		UseOriginalDst:   wrapperspb.Bool(true),
		TrafficDirection: core.TrafficDirection_OUTBOUND,
	})
}

// generateVirtualInbound returns the listener for connections to the workload:
// a chain per port that a service leads to, and one for all others.
func generateVirtualInbound(enc *encoder, ports []inboundPort) *encoded {
	l := &listener.Listener{
		Name:             virtualInbound,
		Address:          socketAddress(anyAddress, inboundCapturePort),
		TrafficDirection: core.TrafficDirection_INBOUND,
		ListenerFilters: []*listener.ListenerFilter{{
			Name: wellknown.OriginalDestination,
			ConfigType: &listener.ListenerFilter_TypedConfig{
				TypedConfig: enc.pack(&originaldst.OriginalDst{}),
			},
		}},
		ContinueOnListenerFiltersTimeout: true,
	}
	for _, port := range ports {
		l.FilterChains = append(l.FilterChains, inboundChain(enc, port))
	}
	l.DefaultFilterChain = tcpChain(enc, inboundPassthrough)
	l.DefaultFilterChain.Name = "virtualInbound-catchall"
	return enc.encode(typeLDS, virtualInbound, l)
}

func inboundChain(enc *encoder, port inboundPort) *listener.FilterChain {
	name := inboundName(port.number)
	chain := tcpChain(enc, name)
	if port.protocol.isHTTP() {
		manager := connectionManager(enc, "inbound_0.0.0.0_"+strconv.FormatUint(uint64(port.number), 10))
		manager.RouteSpecifier = &hcm.HttpConnectionManager_RouteConfig{RouteConfig: inlineRoute(port)}
		chain.Filters = []*listener.Filter{filter(enc, wellknown.HTTPConnectionManager, manager)}
	}
	chain.Name = name
	chain.FilterChainMatch = &listener.FilterChainMatch{DestinationPort: wrapperspb.UInt32(port.number)}
	return chain
}

func connectionManager(enc *encoder, statPrefix string) *hcm.HttpConnectionManager {
	return &hcm.HttpConnectionManager{
		StatPrefix:        statPrefix,
		UseRemoteAddress:  wrapperspb.Bool(false),
		NormalizePath:     wrapperspb.Bool(true),
		StreamIdleTimeout: durationpb.New(0),
		HttpFilters: []*hcm.HttpFilter{{
			Name:       wellknown.Router,
			ConfigType: &hcm.HttpFilter_TypedConfig{TypedConfig: enc.pack(&router.Router{})},
		}},
	}
}

func tcpChain(enc *encoder, clusterName string) *listener.FilterChain {
	return &listener.FilterChain{Filters: []*listener.Filter{
		filter(enc, wellknown.TCPProxy, &tcp.TcpProxy{
			StatPrefix:       clusterName,
			ClusterSpecifier: &tcp.TcpProxy_Cluster{Cluster: clusterName},
		}),
	}}
}

func filter(enc *encoder, name string, config proto.Message) *listener.Filter {
	return &listener.Filter{
		Name:       name,
		ConfigType: &listener.Filter_TypedConfig{TypedConfig: enc.pack(config)},
	}
}
