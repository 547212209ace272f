package listen_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/internal/listen"
)

func TestOnlyLoopbackAddressesAreLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:0":             "127.0.0.1:0",
		"127.1.2.3:80":            "127.1.2.3:80",
		"[::1]:80":                "[::1]:80",
		"[::ffff:127.0.0.1]:8080": "127.0.0.1:8080",
	} {
		at, err := listen.Loopback(address, "remedy")
		if err != nil || at.String() != want {
			t.Errorf("%s: got %v, %v; want %s", address, at, err, want)
		}
	}
	if at, err := listen.Loopback("localhost:80", "remedy"); err != nil || !at.Addr().IsLoopback() {
		t.Errorf("localhost: %v, %v", at, err)
	}
	for _, address := range []string{"0.0.0.0:80", "[::]:80", ":80", "192.0.2.1:80", "[::ffff:192.0.2.1]:80", "[fd00::1]:80"} {
		_, err := listen.Loopback(address, "do that")
		if err == nil {
			t.Errorf("%s is taken for a loopback address", address)
			continue
		}
		for _, part := range []string{address, "127.0.0.1:80", "do that"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: no %q in %q", address, part, err)
			}
		}
	}
}

func TestBadAddressesAreNamed(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "localhost", "127.0.0.1", "127.0.0.1:http-not", "127.0.0.1:99999", "http://127.0.0.1:80"} {
		_, err := listen.Resolve(address)
		if err == nil || !strings.Contains(err.Error(), `"`+address+`"`) || !strings.Contains(err.Error(), "HOST:PORT") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestAdvertisedHostIsNeverTheWildcard(t *testing.T) {
	t.Parallel()
	own, err := listen.AdvertisedHost(netip.MustParseAddrPort("192.0.2.7:80"))
	if err != nil || own != "192.0.2.7" {
		t.Errorf("got %s, %v", own, err)
	}
	for _, wildcard := range []string{"0.0.0.0:80", "[::]:80"} {
		host, err := listen.AdvertisedHost(netip.MustParseAddrPort(wildcard))
		if err != nil { // A machine without a default route.
			if !strings.Contains(err.Error(), wildcard) {
				t.Errorf("the error does not name %s: %v", wildcard, err)
			}
			continue
		}
		if ip, err := netip.ParseAddr(host); err != nil || ip.IsUnspecified() || ip.IsLoopback() {
			t.Errorf("%s: got %s, %v", wildcard, host, err)
		}
	}
}

func TestForeignHostsAreForbidden(t *testing.T) {
	t.Parallel()
	handler := listen.GuardHost(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for host, want := range map[string]int{
		"localhost": 204, "LocalHost:8080": 204, "127.0.0.1": 204, "127.0.0.1:8080": 204, "127.9.9.9:1": 204,
		"[::1]": 204, "[::1]:80": 204, "[::ffff:127.0.0.1]:80": 204, "": 204,
		"evil.example": 403, "evil.example:8080": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example:80": 403,
		"192.0.2.1": 403, "0.0.0.0:80": 403, "[::]:80": 403, "[fd00::1]:80": 403, "2130706433": 403,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Host = host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Host %q: got %d, want %d", host, w.Code, want)
		}
		if want == http.StatusForbidden && !strings.Contains(w.Body.String(), host) {
			t.Errorf("Host %q: not named in %q", host, w.Body)
		}
	}
}
