package fakeproxy_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// TestProxiesConnectOverUnixSocketsToo has one of two replicas listen on one. What
// comes over it has no time of arrival, and is counted so.
func TestProxiesConnectOverUnixSocketsToo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "xds.sock")
	overTCP, overUnix := adstest.Start(t), adstest.StartAt(t, "unix:"+path)
	for _, address := range []string{"unix:" + path, "unix://" + path} {
		cfg := config(overTCP.Addr, xds.Delta, 2)
		cfg.Addresses = append(cfg.Addresses, address)
		f := start(t, cfg)
		streams := map[*adstest.Server]*adstest.Stream{overTCP: overTCP.Accept(t), overUnix: overUnix.Accept(t)}
		for _, s := range streams {
			s.Expect(adstest.CDS)
			s.Send(adstest.Delta(adstest.CDS, "1", makeCluster("a", "", time.Second)))
			wantAck(t, s.Expect(adstest.CDS), "1")
		}
		eventually(t, "both answered", func() bool { return f.Counts().Responses == 2 })
		for _, r := range f.sink.all() {
			if f.Stream(r.Proxy).Address == 1 && r.Socket != 0 {
				t.Errorf("a response over a unix socket has arrived at %v", r.Socket)
			}
		}
		if c := f.Counts(); c.Unstamped == 0 || c.Refused != 0 {
			t.Errorf("counts %+v", c)
		}
		if c := f.ByAddress(); c[1].Connected != 1 {
			t.Errorf("by address %+v, want one proxy at %s", c, address)
		}
		f.stop()
	}
}

func TestResponsesOverTCPHaveTheirTimeOfArrival(t *testing.T) {
	t.Parallel()
	_, f, s := one(t, xds.Delta)
	s.Expect(adstest.CDS)
	eventually(t, "a response with its time of arrival", func() bool {
		before := f.Counts()
		s.Send(adstest.Delta(adstest.CDS, "1"))
		s.Expect(adstest.CDS)
		eventually(t, "counted", func() bool { return f.Counts().Responses > before.Responses })
		return f.Counts().Unstamped == before.Unstamped // not so for the very first
	})
	all := f.sink.all()
	if last := all[len(all)-1]; last.Socket == 0 || last.Socket > last.Received {
		t.Errorf("arrived at %v, received at %v", last.Socket, last.Received)
	}
}

func TestNewRefusesWhatIsNoAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "localhost", "http://127.0.0.1:15010", "unix:xds.sock", "fd00::1:15010"} {
		cfg := config("127.0.0.1:15010", xds.Delta, 1, func(c *fakeproxy.Config) { c.Addresses = append(c.Addresses, address) })
		if _, err := fakeproxy.New(cfg); err == nil || !strings.Contains(err.Error(), `"`+address+`"`) {
			t.Errorf("%q: %v, want it refused by name", address, err)
		}
	}
}
