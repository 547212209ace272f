package subprocess

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreeAddresses returns n different addresses on 127.0.0.1 that nothing listens
// on. The ports lie below 32768, where Linux begins to take the local ports of
// outgoing connections by default: the connections of a fleet cannot occupy
// them while the program that listened on them is down.
func FreeAddresses(ctx context.Context, n int) ([]string, error) {
	var addresses []string
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	var lc net.ListenConfig
	var lastErr error
	for range n + 100 {
		if len(addresses) == n {
			return addresses, nil
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(20000+rand.IntN(12000)))
		l, err := lc.Listen(ctx, "tcp", address)
		if err != nil {
			lastErr = err
			continue
		}
		listeners = append(listeners, l)
		addresses = append(addresses, address)
	}
	return nil, fmt.Errorf("no free port on 127.0.0.1 between 20000 and 32000: %w", lastErr)
}
