package fakeproxy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
	"github.com/xdsbench/xdsbench/fakeproxy/node"
)

func TestProxyThatLeavesRetiresAndDoesNotComeBack(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	srv := adstest.Start(t)
	f := start(t, config(srv.Addr, xds.Delta, 1))
	s := srv.Accept(t)
	s.Expect(adstest.CDS)
	s.Send(adstest.Delta(adstest.CDS, "1", makeCluster("a", "", time.Second)))
	wantAck(t, s.Expect(adstest.CDS), "1")
	f.Leave(0)
	s.Gone()
	eventually(t, "retired", func() bool { return slices.Contains(f.sink.kinds(), event.Retired) })
	if c := f.Counts(); c.Connected != 0 || c.Ready != 0 || c.Reconnects != 0 || c.Disconnected != 0 {
		t.Errorf("counts %+v: want a proxy that is gone of its own accord", c)
	}
	f.stop()
	srv.Stop()
}

func TestProxyJoinsOnceAndCanLeaveAgain(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	srv := adstest.Start(t)
	cfg := config(srv.Addr, xds.SotW, 2)
	cfg.Spec.Count = 1
	f := start(t, cfg)
	srv.Accept(t).Expect(adstest.CDS)
	if err := f.Join(1); err != nil {
		t.Fatal(err)
	}
	joined := srv.Accept(t)
	if id := joined.Expect(adstest.CDS).Node.GetId(); id != cfg.Identities[1].ID {
		t.Errorf("%q joined, want %q", id, cfg.Identities[1].ID)
	}
	for _, proxy := range []int{0, 1} {
		if f.Join(proxy) == nil {
			t.Errorf("proxy %d joined although it is there", proxy)
		}
	}
	f.Leave(1)
	joined.Gone()
	eventually(t, "retired", func() bool { return slices.Contains(f.sink.kinds(), event.Retired) })
	f.stop()
	srv.Stop()
}

func TestProxyThatLeavesBeforeItConnectsNeverDoes(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	srv := adstest.Start(t)
	cfg := config(srv.Addr, xds.Delta, 1)
	f, err := fakeproxy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f.Leave(0)
	running := run(t, f, cfg)
	eventually(t, "retired", func() bool { return slices.Contains(running.sink.kinds(), event.Retired) })
	if c := f.Counts(); c.Requests != 0 || c.Refused != 0 {
		t.Errorf("counts %+v: want none", c)
	}
	running.stop()
	srv.Stop()
}

func TestTurnoverOfAKindThatTheFleetLacksIsRefused(t *testing.T) {
	spec := fakeproxy.DefaultSpec()
	spec.Turnover = fakeproxy.Turnover{Share: 1}
	if err := spec.Validate(); err != nil {
		t.Error(err)
	}
	spec.Kinds = node.Shares{node.Router: 1}
	spec.Turnover.Share = 2
	err := spec.Validate()
	if err == nil || !strings.Contains(err.Error(), "turnover.kind") || !strings.Contains(err.Error(), "turnover.share") {
		t.Errorf("error %v", err)
	}
	spec.Turnover = fakeproxy.Turnover{Share: 1, Kind: node.Ztunnel}
	if spec.Validate() == nil {
		t.Error("ztunnels are the pods of no service")
	}
}
