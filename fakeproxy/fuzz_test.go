package fakeproxy_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// Whatever a control plane sends: no panic, and the state stays consistent.
func FuzzHandle(f *testing.F) {
	for _, url := range allURLs {
		f.Add(true, marshal(f, adstest.Delta(url, "1")), marshal(f, adstest.Delta(url, "1", adstest.Listener("l", "r"))))
		f.Add(false, marshal(f, adstest.SotW(url, "1")), marshal(f, adstest.SotW(url, "1", adstest.Route("r", "x"))))
	}
	f.Add(true, marshal(f, adstest.Delta(adstest.CDS, "1", adstest.Cluster("a", "", time.Second))),
		marshal(f, adstest.Delta(adstest.EDS, "1", adstest.Endpoints("a", "10.0.0.1:80"))))
	f.Add(false, marshal(f, adstest.SotW(adstest.LDS, "1", adstest.Listener("l", "r"))),
		marshal(f, adstest.SotW(adstest.RDS, "1", adstest.Route("r", "x"))))
	f.Fuzz(func(t *testing.T, delta bool, first, second []byte) {
		v := event.SotW
		if delta {
			v = event.Delta
		}
		cfg := config("127.0.0.1:1", v, 1)
		fleet, err := fakeproxy.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_ = fakeproxy.Feed(fleet, first, second, first)
		for _, td := range fleet.Dump(0).Types {
			for i, r := range td.Resources {
				if i > 0 && td.Resources[i-1].Name >= r.Name {
					t.Errorf("%s: names %q and %q are out of order", td.Type, td.Resources[i-1].Name, r.Name)
				}
			}
		}
	})
}

// The same without the fuzzer: valid frames with bytes changed, cut out and put
// in, in any order.
func TestDamagedFramesDoNoHarm(t *testing.T) {
	frames := map[event.Variant][][]byte{}
	for _, v := range variants {
		for _, m := range []any{
			response(v, adstest.CDS, "1", adstest.Cluster("a", "", time.Second), adstest.Cluster("b", "x", time.Second)),
			response(v, adstest.EDS, "1", adstest.Endpoints("a", "10.0.0.1:80"), adstest.Endpoints("x", "10.0.0.2:80")),
			response(v, adstest.LDS, "1", adstest.Listener("l", "r", "s")),
			response(v, adstest.RDS, "1", adstest.Route("r", "x"), adstest.Route("s", "y")),
			withTTL(v, "2", nil, time.Minute),
		} {
			frames[v] = append(frames[v], marshal(t, m.(proto.Message))) //nolint:forcetypeassert // made above
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		v := rapid.SampledFrom(variants).Draw(r, "variant")
		fleet, err := fakeproxy.New(config("127.0.0.1:1", v, 1))
		if err != nil {
			r.Fatal(err)
		}
		for range rapid.IntRange(1, 20).Draw(r, "frames") {
			b := slices.Clone(rapid.SampledFrom(frames[v]).Draw(r, "frame"))
			for range rapid.IntRange(0, 3).Draw(r, "damages") {
				i := rapid.IntRange(0, len(b)).Draw(r, "from")
				j := rapid.IntRange(i, min(len(b), i+8)).Draw(r, "to")
				b = slices.Replace(b, i, j, rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(r, "with")...)
			}
			_ = fakeproxy.Feed(fleet, b)
		}
		fleet.Dump(0)
		fleet.Stuck()
	})
}
