package proxyconfig_test

import (
	"bytes"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/proxyconfig"
)

func TestEndpointsAreWrittenAsAddressesThatCanBeDialled(t *testing.T) {
	t.Parallel()
	for want, address := range map[string]*corev3.Address{
		"10.0.0.1:8080":  socket("10.0.0.1", 8080),
		"[fd00::1]:8080": socket("fd00::1", 8080),
		"[fd00::1]:0":    socket("fd00::1", 0),
		"10.0.0.1:0":     socket("10.0.0.1", 0),
		"/run/a.sock":    {Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: "/run/a.sock"}}},
	} {
		cla := &endpointv3.ClusterLoadAssignment{ClusterName: "c", Endpoints: []*endpointv3.LocalityLbEndpoints{{
			LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: address}}}},
		}}}
		var got bytes.Buffer
		if err := proxyconfig.Text(&got, fakeproxy.Dump{Types: []fakeproxy.TypeDump{
			{Type: "eds", Resources: []fakeproxy.ResourceDump{resource(t, "c", "1", cla)}},
		}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.String(), "\n"+want+" ") {
			t.Errorf("want %q in\n%s", want, got.String())
		}
	}
}
