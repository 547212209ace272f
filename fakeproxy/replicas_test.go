package fakeproxy_test

import (
	"slices"
	"testing"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// connections returns how many proxies are connected to each address.
func connections(f *fleet) []int64 {
	var all []int64
	for _, c := range f.ByAddress() {
		all = append(all, c.Connected)
	}
	return all
}

// serveAll answers the first request of n streams.
func serveAll(t *testing.T, srv *adstest.Server, n int) {
	t.Helper()
	for range n {
		s := srv.Accept(t)
		s.Expect(adstest.CDS)
		s.Send(adstest.Delta(adstest.CDS, "1"))
	}
}

func TestConnectionsMoveToTheReplicaThatIsLeftAndStayThere(t *testing.T) {
	a, b := adstest.Start(t), adstest.Start(t)
	f := start(t, config(a.Addr, xds.Delta, 6, func(c *fakeproxy.Config) {
		c.Addresses = []string{a.Addr, b.Addr}
	}))
	serveAll(t, a, 3)
	serveAll(t, b, 3)
	eventually(t, "spread", func() bool { return slices.Equal(connections(f), []int64{3, 3}) })
	eventually(t, "a response for each", func() bool {
		c := f.ByAddress()
		return c[0].Responses[xds.CDS] == 3 && c[1].Responses[xds.CDS] == 3
	})

	b.Stop()
	serveAll(t, a, 3)
	eventually(t, "moved", func() bool { return slices.Equal(connections(f), []int64{6, 0}) })
	f.Offer(1, false)
	if c := f.ByAddress(); c[0].Disconnected != 0 || c[1].Disconnected != 3 {
		t.Errorf("disconnects by address: %+v", c)
	}

	b = adstest.StartAt(t, b.Addr)
	f.Offer(1, true)
	if got := connections(f); !slices.Equal(got, []int64{6, 0}) {
		t.Errorf("connections %v: existing ones must stay", got)
	}
	a.Stop()
	serveAll(t, b, 6)
	eventually(t, "moved back", func() bool { return slices.Equal(connections(f), []int64{0, 6}) })
	if s := f.Stream(0); s.Address != 1 || !s.Connected {
		t.Errorf("proxy 0 is at address %d, connected %t", s.Address, s.Connected)
	}
}

func TestAddressesWithdrawnAreNotTried(t *testing.T) {
	a, b := adstest.Start(t), adstest.Start(t)
	b.Stop()
	cfg := config(a.Addr, xds.Delta, 8, func(c *fakeproxy.Config) {
		c.Addresses, c.Random = []string{a.Addr, b.Addr}, true
	})
	fleet, err := fakeproxy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	fleet.Offer(1, false)
	f := run(t, fleet, cfg)
	serveAll(t, a, 8)
	eventually(t, "all at one", func() bool { return slices.Equal(connections(f), []int64{8, 0}) })
	if n := f.Counts().Refused; n != 0 {
		t.Errorf("%d attempts were refused", n)
	}
}
