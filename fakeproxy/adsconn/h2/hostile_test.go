package h2_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsbench/xdsbench/fakeproxy/adsconn/h2"
)

// raw writes a frame of any kind and size.
func (p *peer) raw(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) {
	p.t.Helper()
	p.must(p.WriteRawFrame(kind, flags, stream, payload))
}

func zeros(n int) []byte { return make([]byte, n) }

func word(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

func setting(id http2.SettingID, v uint32) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(id)), word(v)...)
}

// TestWhatAPeerDoesAgainstHTTP2EndsTheConnection has a server break one rule after the
// other. The connection must end, with a reason that names the rule, and with the error
// code of RFC 9113 in a GOAWAY.
func TestWhatAPeerDoesAgainstHTTP2EndsTheConnection(t *testing.T) {
	t.Parallel()
	const stream = 1
	for name, c := range map[string]struct {
		does func(p *peer)
		code http2.ErrCode
		says string
	}{
		"frame larger than allowed": {func(p *peer) { p.raw(http2.FrameData, 0, stream, zeros(16<<10+1)) }, http2.ErrCodeFrameSize, "DATA frame of 16385 bytes"},
		"largest frame there is":    {func(p *peer) { p.raw(0x99, 0, stream, zeros(1<<24-1)) }, http2.ErrCodeFrameSize, "16777215 bytes"},

		"DATA for no stream":          {func(p *peer) { p.raw(http2.FrameData, 0, 0, zeros(1)) }, http2.ErrCodeProtocol, "stream 0"},
		"DATA for a stream to come":   {func(p *peer) { p.raw(http2.FrameData, 0, 3, zeros(1)) }, http2.ErrCodeProtocol, "stream 3"},
		"DATA for the server's":       {func(p *peer) { p.raw(http2.FrameData, 0, 2, zeros(1)) }, http2.ErrCodeProtocol, "stream 2"},
		"padding longer than DATA":    {func(p *peer) { p.raw(http2.FrameData, http2.FlagDataPadded, stream, []byte{5, 0, 0}) }, http2.ErrCodeProtocol, "padding of 5"},
		"padded DATA without padding": {func(p *peer) { p.raw(http2.FrameData, http2.FlagDataPadded, stream, nil) }, http2.ErrCodeFrameSize, "padding's length"},
		"DATA beyond the connection": {func(p *peer) {
			p.raw(http2.FrameRSTStream, 0, stream, zeros(4))
			for range 200 { // no stream takes it, and so nothing is given back below half of the window
				p.raw(http2.FrameData, 0, stream, zeros(16<<10))
			}
		}, http2.ErrCodeNo, ""},

		"HEADERS for no stream":        {func(p *peer) { p.respond(0) }, http2.ErrCodeProtocol, "HEADERS for stream 0"},
		"HEADERS for a stream to come": {func(p *peer) { p.respond(7) }, http2.ErrCodeProtocol, "stream 7"},
		"HEADERS shorter than padding": {func(p *peer) {
			p.raw(http2.FrameHeaders, http2.FlagHeadersPadded|http2.FlagHeadersEndHeaders, stream, []byte{9, 0})
		}, http2.ErrCodeProtocol, "shorter than their padding"},
		"HEADERS shorter than priority": {func(p *peer) {
			p.raw(http2.FrameHeaders, http2.FlagHeadersPriority|http2.FlagHeadersEndHeaders, stream, zeros(4))
		}, http2.ErrCodeProtocol, "priority"},
		"HEADERS that do not decode": {func(p *peer) {
			p.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
		}, http2.ErrCodeCompression, "SETTINGS_HEADER_TABLE_SIZE"},
		"HEADERS from a table": {func(p *peer) { p.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream, []byte{0x80 | 62}) }, http2.ErrCodeCompression, "SETTINGS_HEADER_TABLE_SIZE is 0"},
		"a table larger than allowed": {func(p *peer) {
			p.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream, []byte{0x3f, 0xe1, 0x1f})
		}, http2.ErrCodeCompression, "SETTINGS_HEADER_TABLE_SIZE is 0"},
		"CONTINUATION without HEADERS": {func(p *peer) { p.raw(http2.FrameContinuation, 0, stream, nil) }, http2.ErrCodeProtocol, "CONTINUATION without"},
		"PING within HEADERS": {func(p *peer) {
			p.raw(http2.FrameHeaders, 0, stream, nil)
			p.raw(http2.FramePing, 0, 0, zeros(8))
		}, http2.ErrCodeProtocol, "PING frame within the headers"},
		"CONTINUATION of another stream": {func(p *peer) {
			p.raw(http2.FrameHeaders, 0, stream, nil)
			p.raw(http2.FrameContinuation, 0, 3, nil)
		}, http2.ErrCodeProtocol, "within the headers of stream 1"},
		"flood of empty CONTINUATION": {func(p *peer) {
			p.raw(http2.FrameHeaders, 0, stream, nil)
			for range 1000 {
				p.raw(http2.FrameContinuation, 0, stream, nil)
			}
		}, http2.ErrCodeEnhanceYourCalm, "headers of more than"},
		"headers without end": {func(p *peer) {
			p.raw(http2.FrameHeaders, 0, stream, zeros(16<<10))
			for range 10 {
				p.raw(http2.FrameContinuation, 0, stream, zeros(16<<10))
			}
		}, http2.ErrCodeEnhanceYourCalm, "headers of more than"},
		"header bomb": {func(p *peer) {
			// A short reference, repeated, to a field of the static table that is long enough.
			p.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream, bytes.Repeat([]byte{0x80 | 16}, 16<<10))
		}, http2.ErrCodeCompression, "headers of more than"},

		"PRIORITY of a wrong size":   {func(p *peer) { p.raw(http2.FramePriority, 0, stream, zeros(4)) }, http2.ErrCodeFrameSize, "PRIORITY with 4"},
		"PRIORITY for no stream":     {func(p *peer) { p.raw(http2.FramePriority, 0, 0, zeros(5)) }, http2.ErrCodeProtocol, "PRIORITY for stream 0"},
		"RST_STREAM of a wrong size": {func(p *peer) { p.raw(http2.FrameRSTStream, 0, stream, zeros(5)) }, http2.ErrCodeFrameSize, "RST_STREAM with 5"},
		"RST_STREAM for no stream":   {func(p *peer) { p.raw(http2.FrameRSTStream, 0, 0, zeros(4)) }, http2.ErrCodeProtocol, "RST_STREAM for stream 0"},
		"RST_STREAM to come":         {func(p *peer) { p.raw(http2.FrameRSTStream, 0, 9, zeros(4)) }, http2.ErrCodeProtocol, "RST_STREAM for stream 9"},

		"SETTINGS for a stream":        {func(p *peer) { p.raw(http2.FrameSettings, 0, stream, nil) }, http2.ErrCodeProtocol, "SETTINGS for stream 1"},
		"SETTINGS of a wrong size":     {func(p *peer) { p.raw(http2.FrameSettings, 0, 0, zeros(7)) }, http2.ErrCodeFrameSize, "settings of 7"},
		"SETTINGS acknowledged long":   {func(p *peer) { p.raw(http2.FrameSettings, http2.FlagSettingsAck, 0, zeros(6)) }, http2.ErrCodeFrameSize, "acknowledgement"},
		"SETTINGS with push":           {func(p *peer) { p.raw(http2.FrameSettings, 0, 0, setting(http2.SettingEnablePush, 1)) }, http2.ErrCodeProtocol, "ENABLE_PUSH"},
		"SETTINGS with a large window": {func(p *peer) { p.raw(http2.FrameSettings, 0, 0, setting(http2.SettingInitialWindowSize, 1<<31)) }, http2.ErrCodeFlowControl, "INITIAL_WINDOW_SIZE"},
		"SETTINGS with small frames":   {func(p *peer) { p.raw(http2.FrameSettings, 0, 0, setting(http2.SettingMaxFrameSize, 100)) }, http2.ErrCodeProtocol, "MAX_FRAME_SIZE"},
		"SETTINGS with large frames":   {func(p *peer) { p.raw(http2.FrameSettings, 0, 0, setting(http2.SettingMaxFrameSize, 1<<24)) }, http2.ErrCodeProtocol, "MAX_FRAME_SIZE"},
		"windows that add up": {func(p *peer) {
			p.raw(http2.FrameWindowUpdate, 0, stream, word(1<<31-1-65535))
			p.raw(http2.FrameSettings, 0, 0, setting(http2.SettingInitialWindowSize, 65536))
		}, http2.ErrCodeFlowControl, "window"},

		"PUSH_PROMISE":                {func(p *peer) { p.raw(http2.FramePushPromise, http2.FlagPushPromiseEndHeaders, stream, zeros(4)) }, http2.ErrCodeProtocol, "PUSH_PROMISE"},
		"PING of a wrong size":        {func(p *peer) { p.raw(http2.FramePing, 0, 0, zeros(7)) }, http2.ErrCodeFrameSize, "PING with 7"},
		"PING for a stream":           {func(p *peer) { p.raw(http2.FramePing, 0, stream, zeros(8)) }, http2.ErrCodeProtocol, "PING for stream 1"},
		"GOAWAY of a wrong size":      {func(p *peer) { p.raw(http2.FrameGoAway, 0, 0, zeros(7)) }, http2.ErrCodeFrameSize, "GOAWAY with 7"},
		"GOAWAY for a stream":         {func(p *peer) { p.raw(http2.FrameGoAway, 0, stream, zeros(8)) }, http2.ErrCodeProtocol, "GOAWAY for stream 1"},
		"WINDOW_UPDATE of wrong size": {func(p *peer) { p.raw(http2.FrameWindowUpdate, 0, 0, zeros(3)) }, http2.ErrCodeFrameSize, "WINDOW_UPDATE with 3"},
		"WINDOW_UPDATE of nothing":    {func(p *peer) { p.raw(http2.FrameWindowUpdate, 0, 0, zeros(4)) }, http2.ErrCodeProtocol, "WINDOW_UPDATE of 0"},
		"WINDOW_UPDATE too large":     {func(p *peer) { p.raw(http2.FrameWindowUpdate, 0, 0, word(1<<31-1)) }, http2.ErrCodeFlowControl, "largest window"},
		"WINDOW_UPDATE to come":       {func(p *peer) { p.raw(http2.FrameWindowUpdate, 0, 5, word(1)) }, http2.ErrCodeProtocol, "stream 5"},
		"flood of empty DATA": {func(p *peer) {
			p.respond(stream)
			for range 1000 {
				p.raw(http2.FrameData, 0, stream, nil)
			}
		}, http2.ErrCodeEnhanceYourCalm, "without payload"},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, shared %v", name, shared), func(t *testing.T) {
				t.Parallel()
				_, s, p := opened(t, config(), shared)
				got := collect(s)
				c.does(p)
				if c.says == "" { // allowed: what is ended takes no memory, and the window is given back
					p.wire.update(func() { p.wire.ended = true })
					within(t, "the end", got)
					return
				}
				err := within(t, "the end", got).err
				if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.code.String()) {
					t.Errorf("ended by %v: want %q and %v", err, c.says, c.code)
				}
				if f := await[*http2.GoAwayFrame](p); f.ErrCode != c.code {
					t.Errorf("GOAWAY with %v: want %v", f.ErrCode, c.code)
				}
			})
		}
	}
}

// TestWhatAPeerDoesOnAStreamEndsTheStream has a server break the rules of gRPC, or of one
// stream: the connection goes on.
func TestWhatAPeerDoesOnAStreamEndsTheStream(t *testing.T) {
	t.Parallel()
	const stream = 1
	for name, c := range map[string]struct {
		does func(p *peer)
		code codes.Code
		says string
	}{
		"DATA before headers":      {func(p *peer) { p.raw(http2.FrameData, 0, stream, zeros(9)) }, codes.Internal, "before the headers"},
		"compressed message":       {func(p *peer) { p.respond(stream); p.raw(http2.FrameData, 0, stream, []byte{1, 0, 0, 0, 1, 0}) }, codes.Unimplemented, "compressed"},
		"message too large":        {func(p *peer) { p.respond(stream); p.raw(http2.FrameData, 0, stream, []byte{0, 1, 0, 0, 1}) }, codes.ResourceExhausted, "larger than max (16777217 vs. 16777216)"},
		"end without status":       {func(p *peer) { p.respond(stream); p.raw(http2.FrameData, http2.FlagDataEndStream, stream, nil) }, codes.Internal, "without a status"},
		"trailers without status":  {func(p *peer) { p.respond(stream); p.end(stream, "x", "y") }, codes.Internal, "without a status"},
		"trailers that do not end": {func(p *peer) { p.respond(stream); p.respond(stream, "grpc-status", "0") }, codes.Internal, "headers within a stream"},
		"end within a message": {func(p *peer) {
			p.respond(stream)
			p.raw(http2.FrameData, 0, stream, []byte{0, 0, 0, 0, 9, 1})
			p.end(stream, "grpc-status", "0")
		}, codes.Internal, "within a message"},
		"status of another stream's end": {func(p *peer) { p.end(stream, append(ok, "grpc-status", "8", "grpc-message", "too%20many")...) }, codes.ResourceExhausted, "too many"},
		"status that is no number":       {func(p *peer) { p.end(stream, append(ok, "grpc-status", "x")...) }, codes.Unknown, "no number"},
		"HTTP error":                     {func(p *peer) { p.respond(stream, ":status", "503") }, codes.Unavailable, `HTTP status "503"`},
		"HTTP page":                      {func(p *peer) { p.respond(stream, ":status", "200", "content-type", "text/html") }, codes.Unknown, "text/html"},
		"not found":                      {func(p *peer) { p.end(stream, ":status", "404") }, codes.Unimplemented, `"404"`},
		"refused":                        {func(p *peer) { p.raw(http2.FrameRSTStream, 0, stream, word(uint32(http2.ErrCodeRefusedStream))) }, codes.Unavailable, "REFUSED_STREAM"},
		"reset":                          {func(p *peer) { p.raw(http2.FrameRSTStream, 0, stream, word(uint32(http2.ErrCodeInternal))) }, codes.Internal, "INTERNAL_ERROR"},
		"update of nothing":              {func(p *peer) { p.raw(http2.FrameWindowUpdate, 0, stream, zeros(4)) }, codes.Internal, "WINDOW_UPDATE of 0"},
		"window too large":               {func(p *peer) { p.raw(http2.FrameWindowUpdate, 0, stream, word(1<<31-1)) }, codes.Internal, "largest window"},
		"not taken before GOAWAY":        {func(p *peer) { p.must(p.WriteGoAway(0, http2.ErrCodeNo, []byte("max_age"))) }, codes.Unavailable, "max_age"},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, shared %v", name, shared), func(t *testing.T) {
				t.Parallel()
				_, s, p := opened(t, config(), shared)
				got := collect(s)
				c.does(p)
				r := within(t, "the end", got)
				if status.Code(r.err) != c.code || !strings.Contains(r.err.Error(), c.says) {
					t.Errorf("ended by %v: want %v with %q", r.err, c.code, c.says)
				}
				if len(r.messages) > 0 {
					t.Errorf("messages %q: there was none", r.messages)
				}
			})
		}
	}
}

func TestAStreamsWindowHolds(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.StreamWindow = 20_000
	c, s, p := opened(t, cfg, true) // where it is given back only when it is received
	p.respond(1)
	for range 4 {
		p.raw(http2.FrameData, 0, 1, grpcMessage(zeros(9_000)))
	}
	if f := await[*http2.RSTStreamFrame](p); f.ErrCode != http2.ErrCodeFlowControl {
		t.Errorf("reset with %v", f.ErrCode)
	}
	if !c.Usable() {
		t.Error("the connection has ended with the stream")
	}
	if got := within(t, "the end", collect(s)); len(got.messages) != 2 || status.Code(got.err) != codes.Internal {
		t.Errorf("%d messages, %v", len(got.messages), got.err)
	}
}

// TestUnreadAnswersAreBounded floods with what asks for answers, and reads none.
func TestUnreadAnswersAreBounded(t *testing.T) {
	t.Parallel()
	for _, kind := range []http2.FrameType{http2.FramePing, http2.FrameSettings} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			_, s, p := opened(t, config(), false)
			got := collect(s)
			await[*http2.SettingsFrame](p) // the acknowledgement
			p.wire.update(func() { p.wire.room = 0 })
			payload := zeros(8)
			if kind == http2.FrameSettings {
				payload = nil
			}
			for range 10_000 {
				p.raw(kind, 0, 0, payload)
			}
			if err := within(t, "the end", got).err; err == nil || !strings.Contains(err.Error(), "does not read them") {
				t.Errorf("ended by %v", err)
			}
		})
	}
}

// TestFloodsAreAnsweredAndTakeNoMemory sends what is allowed, and much of it.
func TestFloodsAreAnsweredAndTakeNoMemory(t *testing.T) { // alone, for the heap is everyone's
	_, s, p := opened(t, config(), false)
	got := collect(s)
	go func() { _, _ = io.Copy(io.Discard, p.wire) }()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10_000 {
		p.raw(http2.FramePing, 0, 0, zeros(8))
		p.raw(http2.FrameSettings, 0, 0, setting(http2.SettingMaxConcurrentStreams, 1))
		p.raw(http2.FrameWindowUpdate, 0, 1, word(1))
		p.raw(0xfe, 0xff, 1, zeros(3))
		p.raw(http2.FramePriority, 0, 99, zeros(5))
	}
	p.end(1, append(ok, "grpc-status", "0")...)
	if r := within(t, "the end", got); r.err != io.EOF { //nolint:errorlint // exactly it
		t.Errorf("ended by %v", r.err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

// TestPeersThatDoNotSpeakHTTP2AreNamed connects to the wrong port.
func TestPeersThatDoNotSpeakHTTP2AreNamed(t *testing.T) {
	t.Parallel()
	for answer, says := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n": "HTTP/1",
		"\x15\x03\x01\x00\x02\x02\x46":     "TLS",
		"SSH-2.0-OpenSSH_9.2\r\n":          "first frame",
	} {
		w := newWire()
		c := h2.New(w, config(), false)
		s, err := c.Open(headers, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(answer))
		if err := within(t, "the end", collect(s)).err; err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: ended by %v, want %q", answer, err, says)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
