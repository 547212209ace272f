package fakeproxy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
	"github.com/xdsbench/xdsbench/fakeproxy/misbehave"
)

// misbehaving changes the spec of a fleet under test.
func misbehaving(f func(*fakeproxy.Spec)) option {
	return func(c *fakeproxy.Config) { f(&c.Spec) }
}

func TestInjectedNacksChooseByTypeAndName(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v, misbehaving(func(s *fakeproxy.Spec) {
				s.Nack = misbehave.Nack{Rate: 1, Types: []string{"cds", "sds"}, Names: []string{"outbound|80|*", "canary"}}
			}))
			s.Expect(adstest.CDS)
			for i, tc := range []struct {
				name   string
				nacked bool
			}{
				{"outbound|80||a.ns", true}, {"my-canary-1", true}, {"outbound|8080||a.ns", false}, {"xoutbound|80|", false},
			} {
				version := fmt.Sprint(i)
				s.Send(response(v, adstest.CDS, version, makeCluster("plain", "", time.Second), makeCluster(tc.name, "", time.Second)))
				if r := s.Expect(adstest.CDS); (r.Error != "") != tc.nacked {
					t.Errorf("%s: answer %+v, want a NACK: %v", tc.name, r, tc.nacked)
				}
			}
			s.Send(response(v, adstest.LDS, "1", makeListener("canary")))
			s.Expect(adstest.LDS)
			wantAck(t, s.Expect(adstest.LDS), "1")
			if c := f.Counts(); c.NacksInjected != 2 {
				t.Errorf("counts %+v, want 2 injected NACKs", c)
			}
		})
	}
}

func TestRemovalOfANameIsRejectedToo(t *testing.T) {
	_, _, s := one(t, xds.Delta, misbehaving(func(s *fakeproxy.Spec) { s.Nack = misbehave.Nack{Rate: 1, Names: []string{"a"}} }))
	s.Expect(adstest.CDS)
	m := adstest.Delta(adstest.CDS, "1")
	m.RemovedResources = []string{"a"}
	s.Send(m)
	if r := s.Expect(adstest.CDS); r.Error == "" {
		t.Errorf("got %+v, want a NACK", r)
	}
}

// The same seed makes the same proxies reject the same responses.
func TestInjectedNacksFollowTheSeed(t *testing.T) {
	pattern := func(seed uint64) string {
		cfg := config("127.0.0.1:1", xds.SotW, 2, misbehaving(func(s *fakeproxy.Spec) { s.Nack.Rate = 0.5 }))
		cfg.Seed = seed
		f, err := fakeproxy.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			if err := fakeproxy.FeedTo(f, i%2, marshal(t, adstest.SotW(adstest.CDS, fmt.Sprint(i)))); err != nil {
				t.Fatal(err)
			}
		}
		var b strings.Builder
		for _, r := range cfg.Sink.(*recorder).all() { //nolint:forcetypeassert // made by config
			fmt.Fprintf(&b, "%v ", r.Injected)
		}
		return b.String()
	}
	if a, b := pattern(1), pattern(1); a != b || !strings.Contains(a, "true") || !strings.Contains(a, "false") {
		t.Errorf("with one seed:\n%s\n%s", a, b)
	}
	if pattern(1) == pattern(2) {
		t.Error("two seeds give one pattern")
	}
}

func TestApplyDelaysAreDrawnFromTheirDistribution(t *testing.T) {
	for _, tc := range []struct {
		text  string
		least time.Duration
	}{
		{`"20ms"`, 20 * time.Millisecond},
		{`{"distribution":"uniform","min":"10ms","max":"30ms"}`, 10 * time.Millisecond},
		{`{"distribution":"exponential","mean":"5ms"}`, 0},
	} {
		t.Run(tc.text, func(t *testing.T) {
			var d misbehave.Delay
			if err := json.Unmarshal([]byte(tc.text), &d); err != nil {
				t.Fatal(err)
			}
			_, f, s := one(t, xds.SotW, misbehaving(func(s *fakeproxy.Spec) { s.ApplyDelay = d }))
			s.Expect(adstest.CDS)
			for i := range 5 {
				s.Send(adstest.SotW(adstest.CDS, fmt.Sprint(i)))
				wantAck(t, s.Expect(adstest.CDS), fmt.Sprint(i))
			}
			eventually(t, "counted", func() bool { return f.Counts().AppliesDelayed == 5 && len(f.sink.all()) == 5 })
			waits := map[time.Duration]bool{}
			for _, r := range f.sink.all() {
				w := r.Answered.Sub(r.Received)
				waits[w] = true
				if w < tc.least {
					t.Errorf("waited %v, want at least %v", w, tc.least)
				}
			}
			if len(waits) < 2 {
				t.Errorf("waits %v", waits)
			}
		})
	}
}

func TestDelayNotationIsStrictAndGoesBothWays(t *testing.T) {
	for _, text := range []string{`"50ms"`, `{"distribution":"uniform","min":"1ms","max":"2ms"}`, `{"distribution":"exponential","mean":"5ms"}`} {
		var d misbehave.Delay
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(d); err != nil || string(b) != text {
			t.Errorf("%s became %s, %v", text, b, err)
		}
	}
	for _, text := range []string{`"fast"`, `{"distribution":"uniform","maximum":"2ms"}`, `7`} {
		var d misbehave.Delay
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s was taken for %+v", text, d)
		}
	}
}

func TestSlowReaderLeavesTheBytesInItsSocket(t *testing.T) {
	const share, rate = 0.5, 20_000
	srv := adstest.Start(t)
	f := start(t, config(srv.Addr, xds.SotW, 2, misbehaving(func(s *fakeproxy.Spec) {
		s.SlowRead = misbehave.SlowRead{Share: share, BytesPerSecond: rate}
	})))
	var clusters []proto.Message
	for i := range 80 {
		clusters = append(clusters, makeCluster(longName(i), "", time.Second))
	}
	m := adstest.SotW(adstest.CDS, "1", clusters...)
	size := proto.Size(m)
	for range 2 {
		s := srv.Accept(t)
		s.Expect(adstest.CDS)
		s.Send(m)
	}
	start := time.Now()
	eventually(t, "both have it", func() bool { return f.Counts().Responses == 2 })
	all := f.sink.all()
	apart := all[1].Received.Sub(all[0].Received)
	if least := time.Duration(size) * time.Second / rate / 2; apart < least || time.Since(start) < least {
		t.Errorf("%d bytes at %d B/s came %v later than at full speed, want at least %v", size, rate, apart, least)
	}
	if c := f.Counts(); c.SlowReaders != 1 || c.SlowReads < 2 {
		t.Errorf("counts %+v", c)
	}
}

func TestSlowReaderRestsBeforeEachRead(t *testing.T) {
	_, f, s := one(t, xds.Delta, misbehaving(func(s *fakeproxy.Spec) {
		s.SlowRead.Share, s.SlowRead.Pause.Duration = 1, 30*time.Millisecond
	}))
	s.Expect(adstest.CDS)
	s.Send(adstest.Delta(adstest.CDS, "1"))
	wantAck(t, s.Expect(adstest.CDS), "1")
	if c := f.Counts(); c.SlowReads == 0 {
		t.Errorf("counts %+v", c)
	}
}

func TestDisconnectsBreakStreamsAtTheirRateAndProxiesComeBack(t *testing.T) {
	srv := adstest.Start(t)
	f := start(t, config(srv.Addr, xds.Delta, 4, misbehaving(func(s *fakeproxy.Spec) { s.Disconnects.Rate = 100 })))
	for range 20 {
		srv.Accept(t)
	}
	f.stop()
	if c := f.Counts(); c.DisconnectsInjected < 16 || c.Reconnects < 16 || c.StormDisconnects != 0 {
		t.Errorf("counts %+v", c)
	}
	for _, e := range f.sink.events {
		if e.Err != nil && !strings.Contains(e.Err.Error(), "on purpose") {
			t.Errorf("ended by %v", e.Err)
		}
	}
}

func TestStormDropsAllAtOnce(t *testing.T) {
	const proxies = 8
	srv := adstest.Start(t)
	f := start(t, config(srv.Addr, xds.Delta, proxies, misbehaving(func(s *fakeproxy.Spec) {
		s.Storms.Every.Duration = 400 * time.Millisecond
	})))
	for range 2 * proxies {
		s := srv.Accept(t)
		s.Expect(adstest.CDS)
		s.Send(adstest.Delta(adstest.CDS, "1"))
	}
	eventually(t, "all are back", func() bool {
		c := f.Counts()
		return c.Storms == 1 && c.StormDisconnects == proxies && c.Disconnected == proxies && c.Connected == proxies
	})
}

func TestHalfOpenFromTheStreamNeverAnswers(t *testing.T) {
	_, f, s := one(t, xds.Delta, misbehaving(func(s *fakeproxy.Spec) { s.HalfOpen.Share = 1 }))
	s.Expect(adstest.CDS)
	s.Expect(adstest.LDS)
	s.Send(adstest.Delta(adstest.CDS, "1"))
	s.ExpectNone(adstest.CDS, 50*time.Millisecond)
	if c := f.Counts(); c.HalfOpen != 1 || c.Responses != 0 || c.Connected != 0 || c.Refused != 0 {
		t.Errorf("counts %+v", c)
	}
}

func TestHalfOpenFromReadyFallsSilentThen(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			srv, f, s := one(t, v, misbehaving(func(s *fakeproxy.Spec) {
				s.HalfOpen = misbehave.HalfOpen{Share: 1, From: misbehave.FromReady}
			}))
			syncProxy(t, f, s, v)
			s.Send(response(v, adstest.EDS, "2", makeEndpoints("a")))
			s.ExpectNone(adstest.EDS, 50*time.Millisecond)
			srv.Stop() // which a peer that has vanished does not notice
			time.Sleep(20 * time.Millisecond)
			if c := f.Counts(); c.HalfOpen != 1 || c.Ready != 1 || c.Disconnected != 0 {
				t.Errorf("counts %+v", c)
			}
		})
	}
}

func TestMisbehaviourIsValidated(t *testing.T) {
	s := fakeproxy.DefaultSpec()
	s.StreamsPerConnection = 2
	s.Nack = misbehave.Nack{Rate: -1, Types: []string{"vhds"}, Names: []string{""}}
	s.ApplyDelay = misbehave.Delay{Distribution: misbehave.Uniform}
	s.ApplyDelay.Min.Duration, s.ApplyDelay.Mean.Duration = 2, 3
	s.SlowRead = misbehave.SlowRead{Share: 0.5, BytesPerSecond: 1}
	s.Disconnects.Rate = -1
	s.Storms = misbehave.Storms{Share: 2}
	s.HalfOpen = misbehave.HalfOpen{Share: 0.5, From: "birth"}
	err := s.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"proxies.nack.rate: -1:", "proxies.nack.types[0]:", "proxies.nack.names[0]:",
		"proxies.applyDelay.mean: 3ns:", "proxies.applyDelay.max: 0s:",
		"proxies.slowRead.bytesPerSecond: 1:", "proxies.slowRead.share: 0.5:", "proxies.halfOpen.share: 0.5:",
		"proxies.halfOpen.from:", "proxies.disconnects.rate:", "proxies.storms.share: 2:",
	}
	lines := strings.Split(err.Error(), "\n")
	for _, w := range want {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, w) }) {
			t.Errorf("no line begins with %q in:\n%v", w, err)
		}
	}
	if len(lines) != len(want) {
		t.Errorf("%d lines, want %d:\n%v", len(lines), len(want), err)
	}
}
