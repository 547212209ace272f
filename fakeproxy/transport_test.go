package fakeproxy_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that recording stands before
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// recording is the server's codec, and keeps every request as it came, by its type: what
// a server sends of several types at once, and so what answers it, is in no set order.
type recording struct {
	encoding.CodecV2

	// withoutNonces is for servers that number their responses in no set order.
	withoutNonces bool

	mu       sync.Mutex
	requests map[string][][]byte
}

func newRecording() *recording {
	return &recording{CodecV2: encoding.GetCodecV2("proto"), requests: map[string][][]byte{}}
}

func (r *recording) Unmarshal(data mem.BufferSlice, v any) error {
	whole := data.Materialize()
	if err := r.CodecV2.Unmarshal(data, v); err != nil {
		return err
	}
	m, ok := v.(request)
	if !ok {
		return nil
	}
	if r.withoutNonces {
		c := proto.Clone(m)
		c.ProtoReflect().Clear(c.ProtoReflect().Descriptor().Fields().ByName("response_nonce"))
		var err error
		if whole, err = (proto.MarshalOptions{Deterministic: true}).Marshal(c); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[m.GetTypeUrl()] = append(r.requests[m.GetTypeUrl()], whole)
	return nil
}

// request is of either variant.
type request interface {
	proto.Message
	GetTypeUrl() string
}

// await waits until that many requests have come.
func (r *recording) await(t *testing.T, n int64) {
	t.Helper()
	eventually(t, "all requests received", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		got := 0
		for _, list := range r.requests {
			got += len(list)
		}
		return int64(got) == n
	})
}

// sameRequests compares what two servers were sent.
func sameRequests(t *testing.T, a, b *recording) {
	t.Helper()
	for _, r := range []*recording{a, b} {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	if len(a.requests) == 0 {
		t.Fatal("no requests")
	}
	for url := range b.requests {
		if a.requests[url] == nil {
			t.Errorf("%s: asked for with one transport only", url)
		}
	}
	for url, one := range a.requests {
		other := b.requests[url]
		if !slices.EqualFunc(one, other, bytes.Equal) {
			t.Errorf("%s: %d and %d requests, which differ:\n%q\n%q", url, len(one), len(other), one, other)
		}
	}
}

// TestBothTransportsSendTheSameRequests runs one script, with an update, a rejection, a
// removal and a reconnect, over each transport: what the server receives is equal, byte
// for byte.
func TestBothTransportsSendTheSameRequests(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			var got []*recording
			for _, with := range transports {
				r := newRecording()
				srv := adstest.Start(t, grpc.ForceServerCodecV2(r))
				f := start(t, config(srv.Addr, v, 1, over(with)))
				c := &script{t, v, srv.Accept(t)}
				check(t, c.s, "first requests", want{url: adstest.CDS, node: true}, want{url: adstest.LDS})
				c.clusters()
				c.listeners()
				c.update()
				c.reject()
				c.remove()
				eventually(t, "ready", func() bool { return f.Counts().Ready == 1 })
				c.s.End(nil)
				c.s = srv.Accept(t)
				c.reconnected()
				f.stop()
				srv.Stop()
				got = append(got, r)
			}
			sameRequests(t, got[0], got[1])
		})
	}
}

// TestBothTransportsSendTheSameRequestsToGoControlPlane does the same with a server that
// nobody of ours wrote, and three revisions of a mesh's endpoints.
func TestBothTransportsSendTheSameRequestsToGoControlPlane(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			var got []*recording
			services := []string{"a", "b", "c"}
			for _, with := range transports {
				caches, mux := linearCaches(meshOf(services, 1))
				r := newRecording()
				r.withoutNonces = true
				f := start(t, config(serveCache(t, mux, grpc.ForceServerCodecV2(r)), v, 1, over(with)))
				for rev := 1; rev <= 3; rev++ {
					wantEverywhere(t, f, 1, services, rev)
					eventually(t, "ready", func() bool { return f.Counts().Ready == 1 })
					next := map[string]types.Resource{}
					for _, s := range services {
						next[s] = makeEndpoints(s, fmt.Sprintf("10.0.0.%d:80", rev+1))
					}
					caches[adstest.EDS].SetResources(next)
				}
				wantEverywhere(t, f, 1, services, 4)
				r.await(t, f.Counts().Requests)
				f.stop()
				got = append(got, r)
			}
			sameRequests(t, got[0], got[1])
		})
	}
}
