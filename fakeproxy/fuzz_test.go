package fakeproxy_test

import (
	"bytes"
	"flag"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	internalv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/internal_upstream/v3"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// hostile are small frames made to do harm, by what they are.
func hostile(tb testing.TB, v xds.Variant) map[string][]byte {
	tb.Helper()
	frames := map[string][]byte{}
	add := func(name string, m any) { frames[name] = marshal(tb, m.(proto.Message)) } //nolint:forcetypeassert // of response
	add("a name of 1 MB", response(v, adstest.CDS, "1", makeCluster(strings.Repeat("n", 1<<20), "", time.Second)))
	empty := marshal(tb, adstest.SotW(adstest.CDS, ""))
	frames["100,000 empty resources"] = append(slices.Clone(empty), bytes.Repeat([]byte{2<<3 | 2, 0}, 100_000)...)
	frames["100,000 removals"] = append(empty, bytes.Repeat([]byte{6<<3 | 2, 1, 'a'}, 100_000)...)
	add("another type's resource", response(v, adstest.EDS, "1", makeCluster("a", "", time.Second)))
	add("an unknown type", response(v, "type.googleapis.com/no.such.Type", "1", makeCluster("a", "", time.Second)))
	whole := marshal(tb, response(v, adstest.CDS, "1", makeCluster("a", "", time.Second)).(proto.Message)) //nolint:forcetypeassert // of response
	frames["a truncated Any"] = whole[:len(whole)-20]
	frames["a length beyond the frame"] = []byte{2<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0x7f}
	return frames
}

// hostileAndLarge are more of them, which take longer to make.
func hostileAndLarge(tb testing.TB, v xds.Variant) map[string][]byte {
	tb.Helper()
	frames := hostile(tb, v)
	add := func(name string, m any) { frames[name] = marshal(tb, m.(proto.Message)) } //nolint:forcetypeassert // of response
	long := strings.Repeat("n", 1<<20)
	add("a route name of 1 MB", response(v, adstest.LDS, "1", makeListener("l", long)))
	add("a version of 1 MB", response(v, adstest.CDS, long, makeCluster("a", "", time.Second)))
	add("a type URL of 1 MB", response(v, long, "1"))
	var many []proto.Message
	for i := range 100_000 {
		many = append(many, &clusterv3.Cluster{Name: strconv.Itoa(i)})
	}
	if v == xds.Delta { // which is the costlier one
		add("100,000 resources", response(v, adstest.CDS, "1", many...))
	}
	add("10,000 invalid resources", response(v, adstest.RDS, "1", many[:10_000]...))
	c := makeTLSCluster("a", time.Second, "s")
	for range 2000 {
		c.TransportSocket = &corev3.TransportSocket{Name: "s", ConfigType: &corev3.TransportSocket_TypedConfig{
			TypedConfig: adstest.Any(&internalv3.InternalUpstreamTransport{TransportSocket: c.GetTransportSocket()}),
		}}
	}
	add("2,000 transport sockets in one another", response(v, adstest.CDS, "1", c))
	return frames
}

// What a hostile frame makes the fleet allocate is in proportion to its size,
// and nothing of a rejected one stays.
func TestHostileFramesCostMemoryInProportion(t *testing.T) {
	const factor, base = 150, 1 << 20
	for _, v := range variants {
		for name, frame := range hostileAndLarge(t, v) {
			t.Run(v.String()+"/"+name, func(t *testing.T) {
				f, err := fakeproxy.New(config("127.0.0.1:1", v, 1))
				if err != nil {
					t.Fatal(err)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_ = fakeproxy.Feed(f, frame)
				runtime.ReadMemStats(&after)
				if spent := after.TotalAlloc - before.TotalAlloc; spent > uint64(len(frame))*factor+base {
					t.Errorf("%d bytes allocated for a frame of %d", spent, len(frame))
				} else {
					t.Logf("%d bytes allocated for a frame of %d", spent, len(frame))
				}
				if c := f.Counts(); c.Nacks > 0 && c.MaxRequestBytes > 8<<10 {
					t.Errorf("a NACK of %d bytes", c.MaxRequestBytes)
				}
			})
		}
	}
	if in := memoryInUse(); in > 200<<20 {
		t.Errorf("%d bytes still in use", in)
	}
}

// fuzzing reports whether seeds are to be mutated, and not only run.
func fuzzing() bool {
	pattern := flag.Lookup("test.fuzz")
	return pattern != nil && pattern.Value.String() != ""
}

// Whatever a control plane sends: no panic, and the state stays consistent.
func FuzzHandle(f *testing.F) {
	for _, url := range allURLs {
		f.Add(true, marshal(f, adstest.Delta(url, "1")), marshal(f, adstest.Delta(url, "1", makeListener("l", "r"))))
		f.Add(false, marshal(f, adstest.SotW(url, "1")), marshal(f, adstest.SotW(url, "1", makeRoute("r", "x"))))
	}
	f.Add(true, marshal(f, adstest.Delta(adstest.CDS, "1", makeCluster("a", "", time.Second))),
		marshal(f, adstest.Delta(adstest.EDS, "1", makeEndpoints("a", "10.0.0.1:80"))))
	for _, v := range variants {
		if fuzzing() {
			break // Megabytes to mutate leave time for nothing else.
		}
		frames := hostile(f, v)
		for _, name := range slices.Sorted(maps.Keys(frames)) {
			f.Add(v == xds.Delta, frames[name], []byte(nil))
		}
	}
	f.Add(false, marshal(f, adstest.SotW(adstest.LDS, "1", makeListener("l", "r"))),
		marshal(f, adstest.SotW(adstest.RDS, "1", makeRoute("r", "x"))))
	f.Fuzz(func(t *testing.T, delta bool, first, second []byte) {
		v := xds.SotW
		if delta {
			v = xds.Delta
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
	frames := map[xds.Variant][][]byte{}
	for _, v := range variants {
		for _, m := range []any{
			response(v, adstest.CDS, "1", makeCluster("a", "", time.Second), makeCluster("b", "x", time.Second)),
			response(v, adstest.EDS, "1", makeEndpoints("a", "10.0.0.1:80"), makeEndpoints("x", "10.0.0.2:80")),
			response(v, adstest.LDS, "1", makeListener("l", "r", "s")),
			response(v, adstest.RDS, "1", makeRoute("r", "x"), makeRoute("s", "y")),
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
