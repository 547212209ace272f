// Package address reads where a server listens: HOST:PORT, or the path of a unix
// socket.
package address

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Address is where a server listens.
type Address struct {
	// Network is "tcp" or "unix", and Endpoint HOST:PORT or an absolute path: what
	// net.Dial takes.
	Network, Endpoint string
}

// longestPath is how long the path of a unix socket may be, in bytes: sun_path has
// 108, with a zero at the end (unix(7)).
const longestPath = 107

// Parse reads an address: HOST:PORT, with an IPv6 address in brackets, or unix:/PATH
// or unix:///PATH (https://github.com/grpc/grpc/blob/master/doc/naming.md). The
// error names the text and says what to write instead.
func Parse(text string) (Address, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		return parsePath(text, path)
	}
	if scheme, _, ok := strings.Cut(text, "://"); ok {
		return Address{}, fmt.Errorf("%q: must be HOST:PORT or unix:/PATH: leave out %s://", text, scheme)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil && strings.Count(text, ":") > 1 {
		return Address{}, fmt.Errorf("%q: must be HOST:PORT, an IPv6 host in brackets, such as [::1]:15010", text)
	}
	switch n, portErr := strconv.ParseUint(port, 10, 16); {
	case err != nil || host == "" || strings.ContainsAny(host, " \t/,@?#"):
		return Address{}, fmt.Errorf("%q: must be HOST:PORT or unix:/PATH, such as 127.0.0.1:15010", text)
	case portErr != nil || n == 0:
		return Address{}, fmt.Errorf("%q: port %q: must be a number from 1 to 65535", text, port)
	}
	return Address{Network: "tcp", Endpoint: net.JoinHostPort(host, port)}, nil
}

func parsePath(text, path string) (Address, error) {
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		path = rest
	}
	switch {
	case !strings.HasPrefix(path, "/") || path == "/":
		return Address{}, fmt.Errorf("%q: must name the socket by its absolute path, such as unix:/run/xds.sock", text)
	case len(path) > longestPath:
		return Address{}, fmt.Errorf("%q: the path of a unix socket has at most %d bytes, not %d: use a shorter one", text, longestPath, len(path))
	}
	return Address{Network: "unix", Endpoint: path}, nil
}

// ParseList reads the addresses of a field, separated by commas with or without
// spaces. The error has a line for each that is wrong, with the field's name.
func ParseList(field, text string) ([]Address, error) {
	var list []Address
	var errs []error
	for part := range strings.SplitSeq(text, ",") {
		a, err := Parse(strings.TrimSpace(part))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
		list = append(list, a)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return list, nil
}

// String returns what Parse reads.
func (a Address) String() string {
	if a.Network == "unix" {
		return "unix:" + a.Endpoint
	}
	return a.Endpoint
}
