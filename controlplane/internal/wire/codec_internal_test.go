package wire

import (
	"errors"
	"slices"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

func TestRequestsDecodeAsTheyWouldWithoutTheFastPath(t *testing.T) {
	request := &discovery.DiscoveryRequest{
		VersionInfo: "v", Node: &core.Node{Id: "n"}, ResourceNames: []string{"b", "a", "b"}, TypeUrl: xds.EDS.URL(),
		ResponseNonce: "7", ErrorDetail: &rpcstatus.Status{Code: 3, Message: "m"},
	}
	data, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	in := &Request{Interner: xds.NewInterner()}
	if err := in.parse(data); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(in.Names.Names(), []string{"a", "b"}) {
		t.Errorf("names %v", in.Names.Names())
	}
	request.ResourceNames = nil
	if !proto.Equal(in.Message, request) {
		t.Errorf("got %v, want %v", in.Message, request)
	}
	for cut := range data {
		short := &Request{Interner: in.Interner}
		err := short.parse(data[:cut])
		if want := proto.Unmarshal(data[:cut], &discovery.DiscoveryRequest{}); (err == nil) != (want == nil) {
			t.Errorf("cut to %d bytes: error %v, want one as %v", cut, err, want)
		}
	}
}

func TestNameThatIsNoTextIsRefused(t *testing.T) {
	data := protowire.AppendBytes(protowire.AppendTag(nil, namesField, protowire.BytesType), []byte{0xff})
	if err := (&Request{Interner: xds.NewInterner()}).parse(data); !errors.Is(err, ErrMalformed) {
		t.Errorf("error %v", err)
	}
}
