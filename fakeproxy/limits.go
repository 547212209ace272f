package fakeproxy

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"

	"github.com/xdsbench/xdsbench/internal/address"
)

// Bounds on one process's connections.
const (
	// spareDescriptors are for everything that is not a proxy's connection.
	spareDescriptors = 256
	// portsPerSource is how many connections one source address is taken to
	// give to one target before the next address is used: below the 28,232 of
	// the usual ephemeral port range.
	portsPerSource = 25_000
)

// limitError says that the system allows less than a fleet needs.
func limitError(what string, need, limit uint64, advice string) error {
	return fmt.Errorf("%s: %d needed, %d allowed: %s", what, need, limit, advice)
}

// CheckLimits lists the limits of this process that are too low for a fleet. It
// changes none: that of open files has been raised to the hard limit by Go's own
// start-up.
func CheckLimits(s Spec) error {
	connections := connectionsOf(s)
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("reading RLIMIT_NOFILE: %w", err)
	}
	var errs []error
	if need := uint64(connections + spareDescriptors); need > l.Cur {
		errs = append(errs, limitError("open files (RLIMIT_NOFILE)", need, l.Cur,
			"raise the hard limit (ulimit -Hn, LimitNOFILE= of systemd, or --ulimit nofile= of the container), "+
				"lower proxies.count, or set proxies.streamsPerConnection"))
	}
	if n := len(s.SourceAddresses); n > 0 {
		if ports := uint64(n) * ephemeralPorts(); uint64(connections) > ports {
			errs = append(errs, limitError("ephemeral ports", uint64(connections), ports,
				"add proxies.sourceAddresses, or widen net.ipv4.ip_local_port_range"))
		}
	}
	return errors.Join(errs...)
}

func connectionsOf(s Spec) int {
	per := max(s.StreamsPerConnection, 1)
	return (s.Count + per - 1) / per
}

// ephemeralPorts is how many connections one address can open to one target.
func ephemeralPorts() uint64 {
	const fallback = 28_232
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return fallback
	}
	var low, high uint64
	if _, err := fmt.Sscan(string(b), &low, &high); err != nil || high < low {
		return fallback
	}
	return high - low + 1
}

// sourcesFor returns the addresses to connect from; an invalid address leaves
// the choice to the system.
func sourcesFor(s Spec, targets []address.Address) ([]netip.Addr, error) {
	if len(s.SourceAddresses) > 0 {
		var sources []netip.Addr
		for _, text := range s.SourceAddresses {
			a, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("proxies.sourceAddresses: %w", err)
			}
			sources = append(sources, a)
		}
		return sources, nil
	}
	perSource := min(portsPerSource, int(ephemeralPorts()))
	n := (connectionsOf(s) + perSource - 1) / perSource
	if n <= 1 {
		return []netip.Addr{{}}, nil
	}
	for _, t := range targets {
		if t.Network != "tcp" {
			continue // it takes no ports
		}
		if a, err := netip.ParseAddrPort(t.Endpoint); err != nil || !a.Addr().IsLoopback() || !a.Addr().Is4() {
			return nil, limitError("ephemeral ports to "+t.String(), uint64(connectionsOf(s)), uint64(perSource),
				"more source addresses are taken for a target on 127.0.0.0/8 only: "+
					"set proxies.streamsPerConnection or lower proxies.count")
		}
	}
	var sources []netip.Addr
	for a := netip.AddrFrom4([4]byte{127, 0, 0, 1}); len(sources) < n; a = a.Next() {
		sources = append(sources, a)
	}
	return sources, nil
}
