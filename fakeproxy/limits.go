package fakeproxy

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"
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

// LimitError says that the system allows less than a fleet needs.
type LimitError struct {
	What        string // such as "open files (RLIMIT_NOFILE)"
	Need, Limit uint64
	Advice      string
}

// Error tells need, limit and what to do.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: %d needed, %d allowed: %s", e.What, e.Need, e.Limit, e.Advice)
}

var _ error = (*LimitError)(nil)

// CheckLimits raises the soft limit of open files to the hard one, and reports
// with a *LimitError each limit that is too low for the fleet.
func CheckLimits(s Spec) error {
	connections := connectionsOf(s)
	limit, err := raiseOpenFiles()
	if err != nil {
		return err
	}
	var errs []error
	if need := uint64(connections + spareDescriptors); need > limit {
		errs = append(errs, &LimitError{
			What: "open files (RLIMIT_NOFILE)", Need: need, Limit: limit,
			Advice: "raise the hard limit (ulimit -Hn, LimitNOFILE= of systemd, or --ulimit nofile= of the container), " +
				"lower proxies.count, or set proxies.streamsPerConnection",
		})
	}
	if n := len(s.SourceAddresses); n > 0 {
		if ports := uint64(n) * ephemeralPorts(); uint64(connections) > ports {
			errs = append(errs, &LimitError{
				What: "ephemeral ports", Need: uint64(connections), Limit: ports,
				Advice: "add proxies.sourceAddresses, or widen net.ipv4.ip_local_port_range",
			})
		}
	}
	return errors.Join(errs...)
}

func connectionsOf(s Spec) int {
	per := max(s.StreamsPerConnection, 1)
	return (s.Count + per - 1) / per
}

// raiseOpenFiles returns the limit that is then in force.
func raiseOpenFiles() (uint64, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("reading RLIMIT_NOFILE: %w", err)
	}
	if l.Cur < l.Max {
		l.Cur = l.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
			return 0, fmt.Errorf("raising RLIMIT_NOFILE to %d: %w", l.Max, err)
		}
	}
	return l.Cur, nil
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
func sourcesFor(s Spec, targets []string) ([]netip.Addr, error) {
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
		if a, err := netip.ParseAddrPort(t); err != nil || !a.Addr().IsLoopback() || !a.Addr().Is4() {
			return nil, &LimitError{
				What: "ephemeral ports to " + t, Need: uint64(connectionsOf(s)), Limit: uint64(perSource),
				Advice: "more source addresses are taken for a target on 127.0.0.0/8 only: " +
					"set proxies.streamsPerConnection or lower proxies.count",
			}
		}
	}
	var sources []netip.Addr
	for a := netip.AddrFrom4([4]byte{127, 0, 0, 1}); len(sources) < n; a = a.Next() {
		sources = append(sources, a)
	}
	return sources, nil
}
