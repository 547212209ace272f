package fakeproxy

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsbench/xdsbench/event/xds"
)

// item is one resource as a response gave it: a body with the name, version
// and TTL around it. Immutable and interned.
type item struct {
	key     key
	name    string
	version string // Delta only; SotW has one version per type
	ttl     time.Duration
	body    *body // nil for a heartbeat
	// invalid says why a proxy must reject it; empty if it need not.
	invalid string
}

// heartbeat reports whether the item only refreshes a TTL: a name without a
// body (https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#time-to-live-ttl).
func (it *item) heartbeat() bool { return it.body == nil && it.invalid == "" }

// Field numbers of envoy.service.discovery.v3.Resource and of Any.
const (
	wrapVersion = 1
	wrapAny     = 2
	wrapName    = 3
	wrapTTL     = 6
	wrapXDSName = 8

	anyURL   = 1
	anyValue = 2
)

// unwrap makes an item of the bytes of a resource: an Any in SotW, which may
// be a wrapper, and always the wrapper in Delta.
func (t *table) unwrap(b []byte, typ xds.Type, v xds.Variant) *item {
	if v == xds.Delta {
		return t.unwrapResource(b, typ)
	}
	url, err := bytesField(b, anyURL)
	if err != nil {
		return &item{invalid: "does not parse: " + err.Error()}
	}
	if string(url) == wrapperURL {
		inner, err := bytesField(b, anyValue)
		if err != nil {
			return &item{invalid: "does not parse: " + err.Error()}
		}
		return t.unwrapResource(inner, typ)
	}
	body := t.body(b, typ)
	return &item{name: body.name, body: body, invalid: body.invalid}
}

func (t *table) unwrapResource(b []byte, typ xds.Type) *item {
	it := new(item)
	var content, ttl []byte
	var xdsName string
	hasContent := false
	err := eachBytes(b, func(num protowire.Number, value []byte) {
		switch int32(num) {
		case wrapVersion:
			it.version = string(value)
		case wrapName:
			it.name = string(value)
		case wrapXDSName:
			if name, err := bytesField(value, 1); err == nil {
				xdsName = string(name)
			}
		case wrapTTL:
			ttl = value
		case wrapAny:
			content, hasContent = value, true
		}
	})
	if err != nil {
		it.invalid = "does not parse: " + err.Error()
		return it
	}
	if it.name == "" {
		it.name = xdsName
	}
	it.setTTL(ttl)
	if !hasContent {
		if it.name == "" {
			it.invalid = "has neither a name nor a body"
		}
		return it
	}
	it.body = t.body(content, typ)
	if it.name == "" {
		it.name = it.body.name
	}
	if it.invalid == "" {
		it.invalid = it.body.invalid
	}
	return it
}

func (it *item) setTTL(b []byte) {
	if len(b) == 0 {
		return
	}
	var d durationpb.Duration
	if err := proto.Unmarshal(b, &d); err != nil {
		it.invalid = "TTL does not parse: " + err.Error()
		return
	}
	if it.ttl = d.AsDuration(); it.ttl < 0 {
		it.invalid = fmt.Sprintf("TTL %v is negative", it.ttl)
	}
}
