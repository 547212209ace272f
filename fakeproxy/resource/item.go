package resource

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsbench/xdsbench/event/xds"
)

// Item is one resource as a response gave it: a body with the name, version
// and TTL around it. Immutable and interned.
type Item struct {
	Name    string
	Version string // Delta only; SotW has one version per type
	TTL     time.Duration
	Body    *Body // nil for a heartbeat

	key     Key
	invalid string // why a proxy must reject it; empty if it need not
}

// heartbeat reports whether the item only refreshes a TTL: a name without a
// body (https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#time-to-live-ttl).
func (it *Item) heartbeat() bool { return it.Body == nil && it.invalid == "" }

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
func (t *Table) unwrap(b []byte, typ xds.Type, v xds.Variant) *Item {
	if v == xds.Delta {
		return t.unwrapResource(b, typ)
	}
	url, err := bytesField(b, anyURL)
	if err != nil {
		return &Item{invalid: "does not parse: " + err.Error()}
	}
	if string(url) == wrapperURL {
		inner, err := bytesField(b, anyValue)
		if err != nil {
			return &Item{invalid: "does not parse: " + err.Error()}
		}
		return t.unwrapResource(inner, typ)
	}
	body := t.body(b, typ)
	return &Item{Name: body.name, Body: body, invalid: body.invalid}
}

func (t *Table) unwrapResource(b []byte, typ xds.Type) *Item {
	it := new(Item)
	var content, ttl []byte
	var xdsName string
	hasContent := false
	err := eachBytes(b, func(num protowire.Number, value []byte) {
		switch int32(num) {
		case wrapVersion:
			it.Version = string(value)
		case wrapName:
			it.Name = string(value)
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
	if it.Name == "" {
		it.Name = xdsName
	}
	it.setTTL(ttl)
	if !hasContent {
		if it.Name == "" {
			it.invalid = "has neither a name nor a body"
		}
		return it
	}
	it.Body = t.body(content, typ)
	if it.Name == "" {
		it.Name = it.Body.name
	}
	if it.invalid == "" {
		it.invalid = it.Body.invalid
	}
	return it
}

func (it *Item) setTTL(b []byte) {
	if len(b) == 0 {
		return
	}
	var d durationpb.Duration
	if err := proto.Unmarshal(b, &d); err != nil {
		it.invalid = "TTL does not parse: " + err.Error()
		return
	}
	if it.TTL = d.AsDuration(); it.TTL < 0 {
		it.invalid = fmt.Sprintf("TTL %v is negative", it.TTL)
	}
}
