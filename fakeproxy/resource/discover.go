package resource

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	internalv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/internal_upstream/v3"
	proxyprotocolv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/proxy_protocol/v3"
	quicv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/quic/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

const (
	typePrefix = "type.googleapis.com/"

	// wrapperURL is the envelope by which SotW gives a resource a name and a TTL.
	wrapperURL = typePrefix + "envoy.service.discovery.v3.Resource"

	hcmURL     = typePrefix + "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
	socketPath = typePrefix + "envoy.extensions.transport_sockets."

	upstreamTLSURL    = socketPath + "tls.v3.UpstreamTlsContext"
	downstreamTLSURL  = socketPath + "tls.v3.DownstreamTlsContext"
	upstreamQUICURL   = socketPath + "quic.v3.QuicUpstreamTransport"
	downstreamQUICURL = socketPath + "quic.v3.QuicDownstreamTransport"
	internalURL       = socketPath + "internal_upstream.v3.InternalUpstreamTransport"
	proxyProtocolURL  = socketPath + "proxy_protocol.v3.ProxyProtocolUpstreamTransport"
)

func compareChild(a, b Child) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}

// overADS reports whether a source of configuration is the ADS stream.
func overADS(s *corev3.ConfigSource) bool { return s.GetAds() != nil || s.GetSelf() != nil }

func (d *Body) listener(b []byte) error {
	l := new(listenerv3.Listener)
	err := unmarshalValid(b, l)
	d.name = l.GetName()
	if err != nil {
		return err
	}
	for _, f := range l.GetListenerFilters() {
		d.extension(f.GetName(), f.GetConfigDiscovery())
	}
	for _, chain := range append(l.GetFilterChains(), l.GetDefaultFilterChain()) {
		if chain.GetFilterChainMatch().GetTransportProtocol() == "raw_buffer" {
			d.state = event.Plaintext
		}
		if err := d.chain(chain); err != nil {
			return err
		}
	}
	if err := d.manager(l.GetApiListener().GetApiListener()); err != nil {
		return fmt.Errorf("api_listener: %w", err)
	}
	d.tidy()
	return nil
}

func (d *Body) chain(chain *listenerv3.FilterChain) error {
	for _, f := range chain.GetFilters() {
		d.extension(f.GetName(), f.GetConfigDiscovery())
		if err := d.manager(f.GetTypedConfig()); err != nil {
			return fmt.Errorf("filter %q: %w", f.GetName(), err)
		}
	}
	return d.secrets(chain.GetTransportSocket())
}

// extension adds the configuration that a filter takes from ECDS: the name of
// the filter is that of the resource.
// https://www.envoyproxy.io/docs/envoy/latest/configuration/overview/extension#config-overview-extension-discovery
func (d *Body) extension(filter string, source *corev3.ExtensionConfigSource) {
	if overADS(source.GetConfigSource()) {
		d.child(xds.ECDS, filter)
	}
}

// manager adds what an HTTP connection manager asks for: a route
// configuration or scoped routes, and the configuration of filters.
func (d *Body) manager(config *anypb.Any) error {
	if config.GetTypeUrl() != hcmURL {
		return nil
	}
	h := new(hcmv3.HttpConnectionManager)
	if err := unmarshalValid(config.GetValue(), h); err != nil {
		return err
	}
	d.child(xds.RDS, h.GetRds().GetRouteConfigName())
	scoped := h.GetScopedRoutes()
	if overADS(scoped.GetScopedRds().GetScopedRdsConfigSource()) {
		d.child(xds.SRDS, wildcard)
	}
	for _, s := range scoped.GetScopedRouteConfigurationsList().GetScopedRouteConfigurations() {
		d.scoped(s)
	}
	for _, f := range h.GetHttpFilters() {
		d.extension(f.GetName(), f.GetConfigDiscovery())
	}
	return nil
}

func (d *Body) scope(b []byte) error {
	s := new(routev3.ScopedRouteConfiguration)
	err := d.named(b, s)
	d.scoped(s)
	return err
}

// scoped adds the route configuration of a scope. One that is loaded on demand
// waits for a request to match it, which none does here.
// https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/rds#scoped-rds
func (d *Body) scoped(s *routev3.ScopedRouteConfiguration) {
	if s.GetRouteConfiguration() == nil && !s.GetOnDemand() {
		d.child(xds.RDS, s.GetRouteConfigurationName())
	}
}

// deepestSocket is how many transport sockets may be wrapped in one another.
const deepestSocket = 8

// secrets adds the secrets that a transport socket takes from ADS, also where
// it is wrapped in another.
// https://www.envoyproxy.io/docs/envoy/latest/configuration/security/secret
func (d *Body) secrets(socket *corev3.TransportSocket) error {
	for depth := 0; socket != nil; depth++ {
		if depth == deepestSocket {
			return fmt.Errorf("transport socket %q: is wrapped more than %d deep", socket.GetName(), deepestSocket)
		}
		inner, err := d.unwrapSocket(socket.GetTypedConfig())
		if err != nil {
			return fmt.Errorf("transport socket %q: %w", socket.GetName(), err)
		}
		socket = inner
	}
	return nil
}

// unwrapSocket adds the secrets of one socket, and returns what it wraps.
func (d *Body) unwrapSocket(config *anypb.Any) (*corev3.TransportSocket, error) {
	b := config.GetValue()
	switch config.GetTypeUrl() {
	case upstreamTLSURL:
		c := new(tlsv3.UpstreamTlsContext)
		err := unmarshalValid(b, c)
		d.common(c.GetCommonTlsContext())
		return nil, err
	case downstreamTLSURL:
		c := new(tlsv3.DownstreamTlsContext)
		err := unmarshalValid(b, c)
		d.downstream(c)
		return nil, err
	case upstreamQUICURL:
		c := new(quicv3.QuicUpstreamTransport)
		err := unmarshalValid(b, c)
		d.common(c.GetUpstreamTlsContext().GetCommonTlsContext())
		return nil, err
	case downstreamQUICURL:
		c := new(quicv3.QuicDownstreamTransport)
		err := unmarshalValid(b, c)
		d.downstream(c.GetDownstreamTlsContext())
		return nil, err
	case internalURL:
		c := new(internalv3.InternalUpstreamTransport)
		err := unmarshalValid(b, c)
		return c.GetTransportSocket(), err
	case proxyProtocolURL:
		c := new(proxyprotocolv3.ProxyProtocolUpstreamTransport)
		err := unmarshalValid(b, c)
		return c.GetTransportSocket(), err
	}
	return nil, nil
}

func (d *Body) downstream(c *tlsv3.DownstreamTlsContext) {
	d.secret(c.GetSessionTicketKeysSdsSecretConfig())
	d.common(c.GetCommonTlsContext())
}

func (d *Body) common(c *tlsv3.CommonTlsContext) {
	for _, s := range c.GetTlsCertificateSdsSecretConfigs() {
		d.secret(s)
	}
	d.secret(c.GetValidationContextSdsSecretConfig())
	d.secret(c.GetCombinedValidationContext().GetValidationContextSdsSecretConfig())
}

func (d *Body) secret(s *tlsv3.SdsSecretConfig) {
	if overADS(s.GetSdsConfig()) && !agentServes(s.GetName()) {
		d.child(xds.SDS, s.GetName())
	}
}

// wildcard is the name that stands for a subscription as a whole: among the
// children that a listener names it means "scoped routes".
const wildcard = "*"

// agentServes reports whether a secret comes from the agent beside a proxy and
// never over ADS: the workload's own certificate and root, and files.
// https://istio.io/latest/docs/ops/configuration/traffic-management/tls-configuration/
func agentServes(secret string) bool {
	return slices.Contains([]string{"default", "ROOTCA"}, secret) ||
		strings.HasPrefix(secret, "file-root:") || strings.HasPrefix(secret, "file-cert:")
}
