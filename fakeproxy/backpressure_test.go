package fakeproxy_test

import (
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// A server that reads nothing while it sends must not bring a proxy to a halt:
// its ACKs wait, it goes on receiving.
func TestProxyReceivesFromAServerThatDoesNotRead(t *testing.T) {
	const responses = 5000
	m := marshal(t, adstest.SotW(adstest.EDS, "1"))
	sent := make(chan error, 1)
	srv := grpc.NewServer(grpc.ForceServerCodecV2(passing{}),
		grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
			for range responses {
				if err := s.SendMsg(encoded(m)); err != nil {
					sent <- err
					return err
				}
			}
			sent <- nil
			<-s.Context().Done()
			return nil
		}))
	var lc net.ListenConfig
	lis, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	f := start(t, config(lis.Addr().String(), xds.SotW, 1))
	eventually(t, "all received", func() bool { return f.Counts().Responses == responses })
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestProxyStaysConnectedToAServerThatIsSlowToRead(t *testing.T) {
	_, f, s := one(t, xds.SotW)
	s.Expect(adstest.CDS)
	var clusters []proto.Message
	for i := range 2000 {
		clusters = append(clusters, makeCluster(longName(i), "", time.Second))
	}
	s.Send(adstest.SotW(adstest.CDS, "1", clusters...))
	for range 50 {
		s.Send(adstest.SotW(adstest.EDS, "1", makeEndpoints(longName(0), "10.0.0.1:80")))
	}
	for range 51 { // the subscription and 50 ACKs, 200 KB each
		if r := s.Expect(adstest.EDS); len(r.Names) != len(clusters) {
			t.Fatalf("EDS request with %d names", len(r.Names))
		}
	}
	if c := f.Counts(); c.Disconnected+c.Refused != 0 {
		t.Errorf("counts %+v", c)
	}
}
