package h2

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// RequestHeaders returns the block of headers that begins a gRPC stream: the same for
// all streams to an authority and a method. No entry goes into the peer's table of
// headers, whose size it sets to 0 (RFC 7541, 6.3).
func RequestHeaders(authority, method, userAgent string) []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	enc.SetMaxDynamicTableSize(0)
	for _, f := range []hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: method},
		{Name: ":authority", Value: authority},
		{Name: "te", Value: "trailers"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "user-agent", Value: userAgent},
	} {
		_ = enc.WriteField(f) // it fails only if its writer does
	}
	return b.Bytes()
}

// headerBlock is a block of headers that comes in more than one frame.
type headerBlock struct {
	stream uint32 // 0 if there is none
	end    bool   // the stream ends with it
	frames int
	bytes  []byte
}

func (h *headerBlock) open() bool { return h.stream != 0 }

// headersFrame takes HEADERS or CONTINUATION, and the headers once they are whole.
func (c *Conn) headersFrame(f frameHeader, b []byte) (*Stream, error) {
	h := &c.in.block
	if f.kind == http2.FrameContinuation {
		if !h.open() {
			return nil, c.breach(http2.ErrCodeProtocol, "CONTINUATION without headers")
		}
	} else {
		var ok bool
		if b, ok = withoutPadding(f, b); !ok {
			return nil, c.breach(http2.ErrCodeProtocol, "headers shorter than their padding and priority")
		}
		h.stream, h.end, h.frames = f.stream, f.flags.Has(http2.FlagHeadersEndStream), 0
	}
	last := f.flags.Has(http2.FlagHeadersEndHeaders) // the same bit in both
	switch h.frames++; {
	case h.frames > maxContinuations || len(h.bytes)+len(b) > maxHeaderBlock:
		return nil, c.breach(http2.ErrCodeEnhanceYourCalm, "headers of more than %d bytes or %d frames", maxHeaderBlock, maxContinuations)
	case !last || h.frames > 1:
		h.bytes = append(h.bytes, b...)
		b = h.bytes
	}
	if !last {
		return nil, nil
	}
	whole := *h
	*h = headerBlock{}
	return c.headers(whole.stream, whole.end, b)
}

// withoutPadding returns the block of headers in a HEADERS frame.
func withoutPadding(f frameHeader, b []byte) ([]byte, bool) {
	padding, priority := 0, 0
	if f.flags.Has(http2.FlagHeadersPadded) {
		if len(b) == 0 {
			return nil, false
		}
		padding, b = int(b[0]), b[1:]
	}
	if f.flags.Has(http2.FlagHeadersPriority) {
		priority = 5
	}
	if len(b) < padding+priority {
		return nil, false
	}
	return b[priority : len(b)-padding], true
}

// headers takes a whole block of response headers or trailers.
func (c *Conn) headers(id uint32, end bool, b []byte) (*Stream, error) {
	c.mu.Lock()
	s, known := c.streams[id], c.wasOpened(id)
	c.mu.Unlock()
	if !known {
		return nil, c.breach(http2.ErrCodeProtocol, "headers for stream %d, which nobody opened", id)
	}
	fields, err := decode(b)
	if err != nil {
		return nil, c.breach(http2.ErrCodeCompression, "%v", err)
	}
	if s == nil {
		return nil, nil
	}
	code, why := s.headersCame(fields, end)
	if why == nil {
		return nil, nil
	}
	if end {
		code = http2.ErrCodeNo
	}
	c.fail(s, code, why)
	return s, nil
}

// fields are those of a response that matter.
type fields struct {
	status, contentType     string
	grpcStatus, grpcMessage string
	hasGRPCStatus           bool
}

// decode decodes a block of headers. As SETTINGS_HEADER_TABLE_SIZE is 0, a block does
// not depend on those before.
func decode(b []byte) (fields, error) {
	var f fields
	var tooLong error
	size := 0
	d := hpack.NewDecoder(0, func(h hpack.HeaderField) {
		if size += int(h.Size()); size > maxHeaderList {
			tooLong = fmt.Errorf("headers of more than %d bytes", maxHeaderList)
			return
		}
		switch h.Name {
		case ":status":
			f.status = h.Value
		case "content-type":
			f.contentType = h.Value
		case "grpc-status":
			f.grpcStatus, f.hasGRPCStatus = h.Value, true
		case "grpc-message":
			f.grpcMessage = h.Value
		}
	})
	d.SetMaxStringLength(maxHeaderList)
	_, err := d.Write(b)
	if err == nil {
		err = d.Close()
	}
	if err != nil {
		return f, fmt.Errorf("headers that do not decode without a table (SETTINGS_HEADER_TABLE_SIZE is 0): %w", err)
	}
	return f, tooLong
}

// isInformational reports whether the headers are of an interim response.
func (f *fields) isInformational() bool { return len(f.status) == 3 && f.status[0] == '1' }

// isGRPC reports whether the content type is gRPC's, whatever the messages are encoded in.
func (f *fields) isGRPC() bool {
	rest, ok := strings.CutPrefix(f.contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}
