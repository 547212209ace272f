package fakeproxy

import (
	"strings"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adsconn"
	"github.com/xdsbench/xdsbench/fakeproxy/resource"
)

// builder appends the fields of a request.
type builder struct {
	b    []byte
	room *[]byte // where b began, of the pool
}

// newBuilder begins a request. grpc-go gives the room back to the pool once the
// request has been written. It has no use for rooms smaller than this.
func newBuilder() builder {
	const room = 1 << 10
	b := mem.DefaultBufferPool().Get(room)
	return builder{b: (*b)[:0], room: b}
}

func (r *builder) bytes(field protowire.Number, value []byte) {
	if len(value) > 0 {
		r.b = protowire.AppendTag(r.b, field, protowire.BytesType)
		r.b = protowire.AppendBytes(r.b, value)
	}
}

func (r *builder) string(field protowire.Number, value string) {
	if value != "" {
		r.b = protowire.AppendTag(r.b, field, protowire.BytesType)
		r.b = protowire.AppendString(r.b, value)
	}
}

// entry appends an entry of a map of strings.
func (r *builder) entry(field protowire.Number, k, v string) {
	size := 2 + protowire.SizeBytes(len(k)) + protowire.SizeBytes(len(v))
	r.b = protowire.AppendTag(r.b, field, protowire.BytesType)
	r.b = protowire.AppendVarint(r.b, uint64(size))
	r.b = protowire.AppendTag(r.b, 1, protowire.BytesType)
	r.b = protowire.AppendString(r.b, k)
	r.b = protowire.AppendTag(r.b, 2, protowire.BytesType)
	r.b = protowire.AppendString(r.b, v)
}

// errorDetail appends a google.rpc.Status, the error_detail of a NACK, with the
// code that Envoy gives: in SotwSubscriptionState::handleBadResponse and its
// like (https://github.com/envoyproxy/envoy, source/extensions/config_subscription/grpc).
func (r *builder) errorDetail(field protowire.Number, reason string) {
	// A proto string must be UTF-8; the names in a reason are the server's.
	s := &rpcstatus.Status{Code: int32(codes.Internal), Message: strings.ToValidUTF8(reason, "\uFFFD")}
	if b, err := proto.Marshal(s); err == nil {
		r.bytes(field, b)
	}
}

// request ends the building. The names' encoding is sent as it is, unless it
// is so short that copying is cheaper.
func (r *builder) request(names *resource.NameSet) *adsconn.Request {
	const short = 1 << 10
	apart := names != nil && len(names.Encoded) > short
	if names != nil && !apart {
		r.b = append(r.b, names.Encoded...)
	}
	*r.room = r.b
	var second mem.Buffer
	if apart {
		second = names.Encoded
	}
	return adsconn.NewRequest(mem.NewBuffer(r.room, mem.DefaultBufferPool()), second)
}

// dialect is what differs between the requests of the two variants.
type dialect interface {
	// first asks for a type on a new stream. The node goes with the stream's
	// first request only.
	first(p *proxy, t xds.Type, node []byte) *adsconn.Request
	// answer is an ACK, or a NACK with a reason, of the last response of t.
	answer(p *proxy, t xds.Type, reason string) *adsconn.Request
	// change tells that the names subscribed to have changed.
	change(p *proxy, t xds.Type, subscribe, unsubscribe *resource.NameSet) *adsconn.Request
}

func dialectOf(v xds.Variant) dialect {
	if v == xds.SotW {
		return sotw{}
	}
	return delta{}
}
