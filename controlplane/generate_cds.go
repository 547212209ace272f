package controlplane

import (
	"math"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	upstream "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	connectTimeout = 10 * time.Second

	// inboundBindAddress marks connections that the proxy itself opened to its
	// workload, so that they are not captured again; istiod's choice.
	inboundBindAddress = "127.0.0.6"

	httpOptionsExtension = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
)

// adsSource tells Envoy to fetch over its ADS stream and, as istiod does, to
// wait for the answer without a limit.
func adsSource() *core.ConfigSource {
	return &core.ConfigSource{
		ConfigSourceSpecifier: &core.ConfigSource_Ads{Ads: &core.AggregatedConfigSource{}},
		InitialFetchTimeout:   durationpb.New(0),
		ResourceApiVersion:    core.ApiVersion_V3,
	}
}

// generateClusters returns one cluster per port of s: an EDS cluster, or for a
// headless service one that dials whatever address the client chose.
func generateClusters(enc *encoder, s *service, sendUnhealthy bool) []*encoded {
	out := make([]*encoded, 0, len(s.ports))
	for _, port := range s.ports {
		name := outboundName(s, port.number)
		c := &cluster.Cluster{
			Name:                          name,
			ConnectTimeout:                durationpb.New(connectTimeout),
			CircuitBreakers:               unlimitedBreakers(),
			Metadata:                      serviceMetadata(s),
			CommonLbConfig:                commonLB(sendUnhealthy),
			TypedExtensionProtocolOptions: httpOptions(enc, port.protocol),
		}
		if s.headless {
			c.ClusterDiscoveryType = &cluster.Cluster_Type{Type: cluster.Cluster_ORIGINAL_DST}
			c.LbPolicy = cluster.Cluster_CLUSTER_PROVIDED
		} else {
			c.ClusterDiscoveryType = &cluster.Cluster_Type{Type: cluster.Cluster_EDS}
			c.EdsClusterConfig = &cluster.Cluster_EdsClusterConfig{EdsConfig: adsSource(), ServiceName: name}
			c.LbPolicy = cluster.Cluster_LEAST_REQUEST
		}
		out = append(out, enc.encode(typeCDS, name, c))
	}
	return out
}

// commonLB turns Envoy's panic mode off when endpoints that are not ready are
// sent: else they would get traffic as soon as they are the majority.
func commonLB(sendUnhealthy bool) *cluster.Cluster_CommonLbConfig {
	if !sendUnhealthy {
		return nil
	}
	return &cluster.Cluster_CommonLbConfig{HealthyPanicThreshold: &typev3.Percent{}}
}

func unlimitedBreakers() *cluster.CircuitBreakers {
	return &cluster.CircuitBreakers{Thresholds: []*cluster.CircuitBreakers_Thresholds{{
		MaxConnections:     wrapperspb.UInt32(math.MaxUint32),
		MaxPendingRequests: wrapperspb.UInt32(math.MaxUint32),
		MaxRequests:        wrapperspb.UInt32(math.MaxUint32),
		MaxRetries:         wrapperspb.UInt32(math.MaxUint32),
		TrackRemaining:     true,
	}}}
}

func serviceMetadata(s *service) *core.Metadata {
	entry := structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"host":      structpb.NewStringValue(s.hostname()),
		"name":      structpb.NewStringValue(s.key.name),
		"namespace": structpb.NewStringValue(s.key.namespace),
	}})
	return &core.Metadata{FilterMetadata: map[string]*structpb.Struct{
		"istio": {Fields: map[string]*structpb.Value{
			"services": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{entry}}),
		}},
	}}
}

func httpOptions(enc *encoder, p protocol) map[string]*anypb.Any {
	if p != protocolHTTP2 {
		return nil
	}
	explicit := &upstream.HttpProtocolOptions_ExplicitHttpConfig{
		ProtocolConfig: &upstream.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
			Http2ProtocolOptions: &core.Http2ProtocolOptions{},
		},
	}
	return map[string]*anypb.Any{httpOptionsExtension: enc.pack(&upstream.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstream.HttpProtocolOptions_ExplicitHttpConfig_{ExplicitHttpConfig: explicit},
	})}
}

// generateStaticClusters returns the clusters that every proxy has.
func generateStaticClusters(enc *encoder) []*encoded {
	blackHole := &cluster.Cluster{
		Name:                 blackHoleCluster,
		ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_STATIC},
		ConnectTimeout:       durationpb.New(connectTimeout),
	}
	inbound := passthrough(inboundPassthrough)
	inbound.UpstreamBindConfig = inboundBind()
	return []*encoded{
		enc.encode(typeCDS, blackHoleCluster, blackHole),
		enc.encode(typeCDS, passthroughCluster, passthrough(passthroughCluster)),
		enc.encode(typeCDS, inboundPassthrough, inbound),
	}
}

func passthrough(name string) *cluster.Cluster {
	return &cluster.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_ORIGINAL_DST},
		ConnectTimeout:       durationpb.New(connectTimeout),
		LbPolicy:             cluster.Cluster_CLUSTER_PROVIDED,
		CircuitBreakers:      unlimitedBreakers(),
	}
}

func inboundBind() *core.BindConfig {
	return &core.BindConfig{SourceAddress: &core.SocketAddress{
		Address:       inboundBindAddress,
		PortSpecifier: &core.SocketAddress_PortValue{},
	}}
}

// generateInboundCluster returns the cluster that leads to one port of the
// proxy's own workload.
func generateInboundCluster(enc *encoder, port inboundPort) *encoded {
	c := passthrough(inboundName(port.number))
	c.UpstreamBindConfig = inboundBind()
	c.Metadata = serviceMetadata(port.service)
	c.TypedExtensionProtocolOptions = httpOptions(enc, port.protocol)
	return enc.encode(typeCDS, c.GetName(), c)
}
