package target

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// parseAddress returns what net.Dial takes for an address as users write it: of TCP
// HOST:PORT or [IPv6]:PORT; of a socket file unix:PATH or unix:///PATH.
func parseAddress(text string) (network, address string, err error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		if rest, ok := strings.CutPrefix(path, "//"); ok {
			path = rest
		}
		if !strings.HasPrefix(path, "/") {
			return "", "", fmt.Errorf("%q: the path of a socket must begin with /, as in unix:/var/run/ads.sock", text)
		}
		return "unix", path, nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || strings.ContainsAny(host, " /") {
		return "", "", fmt.Errorf("%q is not an address: write HOST:PORT, [IPv6]:PORT or unix:/PATH", text)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", fmt.Errorf("%q: the port must be a number from 1 to 65535", text)
	}
	return "tcp", text, nil
}

// splitList splits what commas separate, without the blanks around it; nil of
// nothing.
func splitList(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// addresses are those that the profile gives.
func (s Spec) addresses() []string { return splitList(s.XDSAddress) }

func (s Spec) validateAddresses() error {
	var errs []error
	for _, text := range s.addresses() {
		if _, _, err := parseAddress(text); err != nil {
			errs = append(errs, fmt.Errorf("target.xdsAddress: %w", err))
		}
	}
	if s.Kind == KindExternal && s.addresses() == nil {
		errs = append(errs, errors.New(`target.xdsAddress: "": kind external needs the address of the ADS server, several separated by commas`))
	}
	return errors.Join(errs...)
}
