package generate

import (
	"cmp"
	"math"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	upstream "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

const (
	connectTimeout = 10 * time.Second

	// inboundBindAddress marks connections that the proxy itself opens to its
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

// Clusters returns one cluster per port of s, and one per port and subset of rule,
// which may be nil: EDS clusters, or for a headless service clusters that connect to
// whatever address the client chose.
func Clusters(enc *xds.Encoder, s *kube.Service, rule *kube.DestinationRule, sendUnhealthy bool) []*discovery.Resource {
	out := make([]*discovery.Resource, 0, len(s.Ports)*(1+len(subsetsOf(rule))))
	for _, port := range s.Ports {
		timeout := connectTimeout
		if rule != nil {
			timeout = cmp.Or(rule.ConnectTimeout, timeout)
		}
		out = append(out, outboundCluster(enc, s, port, "", timeout, sendUnhealthy))
		for _, subset := range subsetsOf(rule) {
			timeout := cmp.Or(subset.ConnectTimeout, connectTimeout)
			out = append(out, outboundCluster(enc, s, port, subset.Name, timeout, sendUnhealthy))
		}
	}
	return out
}

func subsetsOf(rule *kube.DestinationRule) []kube.Subset {
	if rule == nil {
		return nil
	}
	return rule.Subsets
}

func outboundCluster(
	enc *xds.Encoder, s *kube.Service, port kube.Port, subset string, timeout time.Duration, sendUnhealthy bool,
) *discovery.Resource {
	name := subsetName(s, port.Number, subset)
	c := &cluster.Cluster{
		Name:                          name,
		ConnectTimeout:                durationpb.New(timeout),
		CircuitBreakers:               unlimitedBreakers(),
		Metadata:                      serviceMetadata(s),
		CommonLbConfig:                commonLB(sendUnhealthy),
		TypedExtensionProtocolOptions: httpOptions(enc, port.Protocol),
	}
	if s.Headless {
		c.ClusterDiscoveryType = &cluster.Cluster_Type{Type: cluster.Cluster_ORIGINAL_DST}
		c.LbPolicy = cluster.Cluster_CLUSTER_PROVIDED
	} else {
		c.ClusterDiscoveryType = &cluster.Cluster_Type{Type: cluster.Cluster_EDS}
		c.EdsClusterConfig = &cluster.Cluster_EdsClusterConfig{EdsConfig: adsSource(), ServiceName: name}
		c.LbPolicy = cluster.Cluster_LEAST_REQUEST
	}
	return enc.Encode(name, c)
}

// commonLB turns Envoy's panic mode off if endpoints that are not ready are
// sent: otherwise they would get traffic as soon as they are the majority.
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

func serviceMetadata(s *kube.Service) *core.Metadata {
	entry := structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"host":      structpb.NewStringValue(s.Hostname()),
		"name":      structpb.NewStringValue(s.Name.Name),
		"namespace": structpb.NewStringValue(s.Name.Namespace),
	}})
	return &core.Metadata{FilterMetadata: map[string]*structpb.Struct{
		"istio": {Fields: map[string]*structpb.Value{
			"services": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{entry}}),
		}},
	}}
}

func httpOptions(enc *xds.Encoder, p kube.Protocol) map[string]*anypb.Any {
	if p != kube.HTTP2 {
		return nil
	}
	explicit := &upstream.HttpProtocolOptions_ExplicitHttpConfig{
		ProtocolConfig: &upstream.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
			Http2ProtocolOptions: &core.Http2ProtocolOptions{},
		},
	}
	return map[string]*anypb.Any{httpOptionsExtension: enc.Pack(&upstream.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstream.HttpProtocolOptions_ExplicitHttpConfig_{ExplicitHttpConfig: explicit},
	})}
}

// StaticClusters returns the clusters that every proxy has.
func StaticClusters(enc *xds.Encoder) []*discovery.Resource {
	blackHole := &cluster.Cluster{
		Name:                 blackHoleCluster,
		ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_STATIC},
		ConnectTimeout:       durationpb.New(connectTimeout),
	}
	inbound := passthrough(inboundPassthrough)
	inbound.UpstreamBindConfig = inboundBind()
	return []*discovery.Resource{
		enc.Encode(blackHoleCluster, blackHole),
		enc.Encode(passthroughCluster, passthrough(passthroughCluster)),
		enc.Encode(inboundPassthrough, inbound),
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

// InboundCluster returns the cluster that leads to one port of the proxy's own
// workload.
func InboundCluster(enc *xds.Encoder, port InboundPort) *discovery.Resource {
	c := passthrough(inboundName(port.Number))
	c.UpstreamBindConfig = inboundBind()
	c.Metadata = serviceMetadata(port.Service)
	c.TypedExtensionProtocolOptions = httpOptions(enc, port.Protocol)
	return enc.Encode(c.GetName(), c)
}
