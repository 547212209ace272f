// Package listen tells listeners that only this machine can reach from those
// that others can, and keeps foreign web pages away from the former.
package listen

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Resolve returns the address to listen on that HOST:PORT names. Without a host
// it is the wildcard, and port 0 is any free one.
func Resolve(address string) (netip.AddrPort, error) {
	_, _, err := net.SplitHostPort(address)
	var tcp *net.TCPAddr
	if err == nil {
		tcp, err = net.ResolveTCPAddr("tcp", address)
	}
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("listen address %q: want HOST:PORT, such as 127.0.0.1:8080 (%w)", address, err)
	}
	at := tcp.AddrPort()
	if tcp.IP == nil {
		at = netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port())
	}
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port()), nil
}

// Loopback is Resolve for a listener that only this machine may reach: any other
// address is an error, which says what to use instead and what the caller's
// remedy is ("give --allow-remote").
func Loopback(address, remedy string) (netip.AddrPort, error) {
	at, err := Resolve(address)
	if err == nil && !at.Addr().IsLoopback() {
		err = fmt.Errorf("listen address %q can be reached from other machines: use a loopback address such as 127.0.0.1:%d, or %s",
			address, at.Port(), remedy)
	}
	return at, err
}

// AdvertisedHost is the IP address by which other machines reach a listener: its
// own, or for the wildcard that of the interface with the default route.
func AdvertisedHost(at netip.AddrPort) (string, error) {
	ip, err := utilnet.ResolveBindAddress(at.Addr().AsSlice())
	if err != nil {
		return "", fmt.Errorf("no address of this machine to advertise for %v: %w", at, err)
	}
	return ip.String(), nil
}

// GuardHost refuses, with 403, requests whose Host header names neither localhost
// nor a loopback address. A web page whose name an attacker points at a loopback
// address (DNS rebinding) is thus kept from what listens there.
func GuardHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopbackHost(r.Host) {
			http.Error(w, fmt.Sprintf("Host %q is not this machine: use localhost or a loopback address", r.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopbackHost reads a Host header, with or without a port. An empty one is
// HTTP/1.0, which no browser speaks.
func isLoopbackHost(header string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	if host == "" || strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
