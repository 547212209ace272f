package address_test

import (
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/internal/address"
)

func TestAddressesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]address.Address{
		"127.0.0.1:15010":           {"tcp", "127.0.0.1:15010"},
		"istiod.istio-system:15010": {"tcp", "istiod.istio-system:15010"},
		"[fd00::1]:15010":           {"tcp", "[fd00::1]:15010"},
		"[fe80::1%eth0]:15010":      {"tcp", "[fe80::1%eth0]:15010"},
		"unix:/run/xds.sock":        {"unix", "/run/xds.sock"},
		"unix:///run/xds.sock":      {"unix", "/run/xds.sock"},
	} {
		got, err := address.Parse(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if again, err := address.Parse(got.String()); err != nil || again != got {
			t.Errorf("%q, written %q: %+v, %v", text, got, again, err)
		}
	}
}

func TestWhatIsNoAddressIsRefusedWithWhatToWrite(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                   "HOST:PORT",
		"localhost":                          "HOST:PORT",
		":15010":                             "HOST:PORT",
		"a host:15010":                       "HOST:PORT",
		"host/path:15010":                    "HOST:PORT",
		"localhost:":                         "1 to 65535",
		"localhost:0":                        "1 to 65535",
		"localhost:http":                     "1 to 65535",
		"localhost:65536":                    "1 to 65535",
		"http://localhost:15010":             "leave out http://",
		"dns:///localhost:15010":             "leave out dns://",
		"fd00::1":                            "in brackets",
		"fd00::1:15010":                      "in brackets",
		"[fd00::1]":                          "in brackets",
		"10.0.0.1":                           "HOST:PORT",
		"unix:":                              "absolute path",
		"unix:relative.sock":                 "absolute path",
		"unix://relative.sock":               "absolute path",
		"unix:/" + strings.Repeat("x", 1000): "at most 107 bytes",
	} {
		a, err := address.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"`+text+`"`) {
			t.Errorf("%q: %+v, %v: want it refused with %q", text, a, err, want)
		}
	}
}

func TestListsAreTrimmedAndEveryProblemIsNamed(t *testing.T) {
	t.Parallel()
	list, err := address.ParseList("xds", "127.0.0.1:1, unix:/run/xds.sock ,[::1]:2")
	if err != nil || len(list) != 3 || list[1].Network != "unix" || list[2].Endpoint != "[::1]:2" {
		t.Errorf("got %v, %v", list, err)
	}
	_, err = address.ParseList("xds", "a:1,,b")
	if err == nil || !strings.Contains(err.Error(), `xds: "": `) || !strings.Contains(err.Error(), "\n"+`xds: "b": `) || strings.Contains(err.Error(), `"a:1"`) {
		t.Errorf("got %v", err)
	}
}
