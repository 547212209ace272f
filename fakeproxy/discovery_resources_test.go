package fakeproxy_test

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// makeTLSCluster is an EDS cluster whose transport socket takes secrets from ADS.
func makeTLSCluster(name string, timeout time.Duration, secrets ...string) *clusterv3.Cluster {
	c := makeCluster(name, "", timeout)
	c.TransportSocket = socket(&tlsv3.UpstreamTlsContext{CommonTlsContext: makeTLS(secrets...)})
	return c
}

// makeTLSChain is a filter chain whose transport socket takes secrets from ADS.
func makeTLSChain(secrets ...string) *listenerv3.FilterChain {
	return &listenerv3.FilterChain{TransportSocket: socket(&tlsv3.DownstreamTlsContext{CommonTlsContext: makeTLS(secrets...)})}
}

func socket(config proto.Message) *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name:       "envoy.transport_sockets.tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: adstest.Any(config)},
	}
}

// makeTLS takes the first secret for its certificate and the others, of which there
// may be one, to validate its peer.
func makeTLS(secrets ...string) *tlsv3.CommonTlsContext {
	c := new(tlsv3.CommonTlsContext)
	for i, name := range secrets {
		s := &tlsv3.SdsSecretConfig{Name: name, SdsConfig: ads()}
		if i == 0 {
			c.TlsCertificateSdsSecretConfigs = []*tlsv3.SdsSecretConfig{s}
			continue
		}
		c.ValidationContextType = &tlsv3.CommonTlsContext_CombinedValidationContext{
			CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
				DefaultValidationContext:         &tlsv3.CertificateValidationContext{},
				ValidationContextSdsSecretConfig: s,
			},
		}
	}
	return c
}

// makeSecret is a certificate with a text in place of its chain.
func makeSecret(name, text string) *tlsv3.Secret {
	chain := &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}
	return &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{CertificateChain: chain}}}
}

// makeFilterChain has an HTTP connection manager with an inline route and HTTP
// filters whose configuration comes from ECDS.
func makeFilterChain(extensions ...string) *listenerv3.FilterChain {
	h := &hcmv3.HttpConnectionManager{
		StatPrefix:     "test",
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: makeRoute("inline", "*")},
	}
	for _, name := range extensions {
		h.HttpFilters = append(h.HttpFilters, &hcmv3.HttpFilter{
			Name: name, ConfigType: &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: makeDiscovery()},
		})
	}
	return managerChain(h)
}

// makeDiscovery is the source of a filter's configuration: ADS.
func makeDiscovery() *corev3.ExtensionConfigSource {
	return &corev3.ExtensionConfigSource{
		ConfigSource: ads(), TypeUrls: []string{"type.googleapis.com/google.protobuf.StringValue"},
	}
}

// makeExtension is the configuration of a filter.
func makeExtension(name, value string) *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{Name: name, TypedConfig: adstest.Any(wrapperspb.String(value))}
}

// makeScopedChain has an HTTP connection manager that takes its routes from SRDS.
func makeScopedChain() *listenerv3.FilterChain {
	return managerChain(&hcmv3.HttpConnectionManager{
		StatPrefix: "test",
		RouteSpecifier: &hcmv3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: &hcmv3.ScopedRoutes{
			Name: "scopes", RdsConfigSource: ads(),
			ScopeKeyBuilder: &hcmv3.ScopedRoutes_ScopeKeyBuilder{
				Fragments: []*hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
					Type: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{
						HeaderValueExtractor: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
							Name:        "scope",
							ExtractType: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{Index: 0},
						},
					},
				}},
			},
			ConfigSpecifier: &hcmv3.ScopedRoutes_ScopedRds{ScopedRds: &hcmv3.ScopedRds{ScopedRdsConfigSource: ads()}},
		}},
	})
}

// makeScope is a scoped route configuration that names a route configuration.
func makeScope(name, route string) *routev3.ScopedRouteConfiguration {
	return &routev3.ScopedRouteConfiguration{
		Name: name, RouteConfigurationName: route,
		Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{
			Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: name},
		}}},
	}
}
