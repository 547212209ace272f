package controlplane_test

import (
	"maps"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// bothVariants returns the endpoints of web over SotW and over Delta, which must be
// equal.
func bothVariants(t *testing.T, objects ...runtime.Object) []string {
	t.Helper()
	p := startPlane(t, nil, objects...)
	sotw := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	sotw.ask(t, eds, webHTTP)
	full := assignments(t, sotw.want(t, eds).GetResources())
	delta := p.delta(t, nodeOf("10.0.0.1", "web-a", "shop"))
	delta.ask(t, eds, webHTTP)
	got := assignments(t, unwrap(t, delta.want(t, eds).GetResources()))
	equalStrings(t, "clusters", slices.Collect(maps.Keys(got)), []string{webHTTP})
	equalStrings(t, "variants", describe(got[webHTTP]), describe(full[webHTTP]))
	return describe(full[webHTTP])
}

func TestBothSlicesOfADualStackServiceBecomeEndpoints(t *testing.T) {
	t.Parallel()
	second := makeSlice("shop", "web", "web-v6", ready("fd00::7"))
	second.AddressType = discoveryv1.AddressTypeIPv6
	got := bothVariants(t, makeService("shop", "web", "10.96.0.1", httpPort()),
		makeSlice("shop", "web", "web-v4", ready("10.0.0.7")), second)
	equalStrings(t, "endpoints", got, []string{"/ 10.0.0.7:8080 HEALTHY", "/ fd00::7:8080 HEALTHY"})
}

func TestFQDNSliceIsSkipped(t *testing.T) {
	t.Parallel()
	odd := makeSlice("shop", "web", "web-fqdn", ready("example.com"))
	odd.AddressType = discoveryv1.AddressTypeFQDN
	got := bothVariants(t, makeService("shop", "web", "10.96.0.1", httpPort()),
		makeSlice("shop", "web", "web-1", ready("10.0.0.7")), odd)
	equalStrings(t, "endpoints", got, []string{"/ 10.0.0.7:8080 HEALTHY"})
}

func TestSliceWithoutPortsHasNoEndpoints(t *testing.T) {
	t.Parallel()
	odd := makeSlice("shop", "web", "web-2", ready("10.0.0.8"))
	odd.Ports = nil
	got := bothVariants(t, makeService("shop", "web", "10.96.0.1", httpPort()),
		makeSlice("shop", "web", "web-1", ready("10.0.0.7")), odd)
	equalStrings(t, "endpoints", got, []string{"/ 10.0.0.7:8080 HEALTHY"})
}

func TestSlicePortWithoutNumberIsPortZero(t *testing.T) {
	t.Parallel()
	odd := makeSlice("shop", "web", "web-1", ready("10.0.0.7"))
	odd.Ports[0].Port = nil
	got := bothVariants(t, makeService("shop", "web", "10.96.0.1", httpPort()), odd)
	equalStrings(t, "endpoints", got, []string{"/ 10.0.0.7:0 HEALTHY"})
}

func TestUnsetConditionsMeanReadyAndReadyFalseAloneTerminating(t *testing.T) {
	t.Parallel()
	unset := discoveryv1.Endpoint{Addresses: []string{"10.0.0.7"}}
	alone := discoveryv1.Endpoint{
		Addresses: []string{"10.0.0.8"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)},
	}
	got := bothVariants(t, makeService("shop", "web", "10.96.0.1", httpPort()),
		makeSlice("shop", "web", "web-1", unset, alone, unready("10.0.0.9")))
	equalStrings(t, "endpoints", got, []string{"/ 10.0.0.7:8080 HEALTHY", "/ 10.0.0.9:8080 UNHEALTHY"})
}
