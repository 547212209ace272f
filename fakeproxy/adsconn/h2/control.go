package h2

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// control works on a whole frame that is no data, and returns the stream that ended
// with it.
func (c *Conn) control(f frameHeader, b []byte) (*Stream, error) {
	if err := c.checkShape(f); err != nil {
		return nil, err
	}
	switch f.kind {
	case http2.FrameHeaders, http2.FrameContinuation:
		return c.headersFrame(f, b)
	case http2.FrameRSTStream:
		return c.resetByPeer(f, http2.ErrCode(binary.BigEndian.Uint32(b)))
	case http2.FrameSettings:
		return nil, c.settingsFrame(f, b)
	case http2.FramePing:
		return nil, c.ping(f, b)
	case http2.FrameGoAway:
		return c.goAway(b)
	case http2.FrameWindowUpdate:
		return c.windowUpdate(f, binary.BigEndian.Uint32(b)&maxWindow)
	default: // PRIORITY says nothing that a client must heed
		return nil, nil
	}
}

// checkShape holds a frame to what RFC 9113, 6 says of its size and its stream.
func (c *Conn) checkShape(f frameHeader) error {
	size, onStream := -1, false
	switch f.kind {
	case http2.FramePushPromise:
		return c.breach(http2.ErrCodeProtocol, "PUSH_PROMISE, though SETTINGS_ENABLE_PUSH is 0")
	case http2.FrameHeaders, http2.FrameContinuation:
		onStream = true
	case http2.FramePriority:
		size, onStream = 5, true
	case http2.FrameRSTStream:
		size, onStream = 4, true
	case http2.FramePing:
		size = 8
	case http2.FrameWindowUpdate:
		size, onStream = 4, f.stream != 0
	case http2.FrameSettings, http2.FrameGoAway, http2.FrameData, http2.FramePriorityUpdate: // of any size, and of no stream
	}
	switch {
	case onStream != (f.stream != 0):
		return c.breach(http2.ErrCodeProtocol, "%v for stream %d", f.kind, f.stream)
	case size >= 0 && f.size != size, f.kind == http2.FrameGoAway && f.size < 8:
		return c.breach(http2.ErrCodeFrameSize, "%v with %d bytes", f.kind, f.size)
	default:
		return nil
	}
}

func (c *Conn) settingsFrame(f frameHeader, b []byte) error {
	if f.flags.Has(http2.FlagSettingsAck) {
		if len(b) > 0 {
			return c.breach(http2.ErrCodeFrameSize, "an acknowledgement of settings with %d bytes", len(b))
		}
		return nil
	}
	const each = 6
	if len(b)%each != 0 {
		return c.breach(http2.ErrCodeFrameSize, "settings of %d bytes, which is no multiple of %d", len(b), each)
	}
	for ; len(b) > 0; b = b[each:] {
		if err := c.set(http2.SettingID(binary.BigEndian.Uint16(b)), binary.BigEndian.Uint32(b[2:])); err != nil {
			return err
		}
	}
	c.mu.Lock()
	if !c.greeted {
		c.greeted = true
	}
	if !c.broken {
		c.note(c.socket.SetReadDeadline(time.Time{}))
	}
	c.moved()
	c.mu.Unlock()
	return c.reply(func(b []byte) []byte {
		return appendFrameHeader(b, 0, http2.FrameSettings, http2.FlagSettingsAck, 0)
	})
}

// set takes one setting of the peer.
func (c *Conn) set(id http2.SettingID, v uint32) error {
	switch {
	case id == http2.SettingEnablePush && v != 0, id == http2.SettingMaxFrameSize && (v < 1<<14 || v > 1<<24-1):
		return c.breach(http2.ErrCodeProtocol, "its setting %v is %d", id, v)
	case id == http2.SettingInitialWindowSize && v > maxWindow:
		return c.breach(http2.ErrCodeFlowControl, "its setting %v is %d", id, v)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch id {
	case http2.SettingMaxConcurrentStreams:
		c.peer.streams = v
	case http2.SettingMaxFrameSize:
		c.peer.frameSize = int(v)
	case http2.SettingInitialWindowSize:
		change := int64(v) - c.peer.window
		c.peer.window = int64(v)
		for _, s := range c.streams {
			if s.sendWindow += change; s.sendWindow > maxWindow {
				return c.breachLocked(http2.ErrCodeFlowControl, "its settings and updates open a window of %d bytes for stream %d", s.sendWindow, s.id)
			}
			c.out.queue(s)
		}
	default: // the others are of no concern to a client that indexes no headers
	}
	return nil
}

// reply queues an answer that the protocol wants. Answers leave with the next write.
func (c *Conn) reply(add func([]byte) []byte) error {
	c.mu.Lock()
	c.out.control = add(c.out.control)
	if len(c.out.control) > maxControl {
		c.pump()
	}
	waiting := len(c.out.control)
	c.mu.Unlock()
	if waiting > maxControl {
		return c.breach(http2.ErrCodeEnhanceYourCalm, "it asks for answers and does not read them: %d bytes wait", waiting)
	}
	return nil
}

func (c *Conn) ping(f frameHeader, b []byte) error {
	if f.flags.Has(http2.FlagPingAck) {
		return nil // there was none of ours
	}
	return c.reply(func(out []byte) []byte {
		return append(appendFrameHeader(out, 8, http2.FramePing, http2.FlagPingAck, 0), b...)
	})
}

// goAway takes the peer's word that it takes no further streams. Those that it has
// taken go on.
func (c *Conn) goAway(b []byte) (ended *Stream, err error) {
	last, code := binary.BigEndian.Uint32(b)&maxStreamID, http2.ErrCode(binary.BigEndian.Uint32(b[4:]))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving = true
	c.peer.farewell = fmt.Sprintf(", after it had said GOAWAY (%v)", code)
	if why := b[8:]; len(why) > 0 {
		const most = 200
		c.peer.farewell = fmt.Sprintf(", after it had said GOAWAY (%v: %s)", code, strings.ToValidUTF8(string(why[:min(most, len(why))]), "?"))
	}
	for id, s := range c.streams {
		if id > last {
			c.end(s, status.Error(codes.Unavailable, "the control plane did not take the stream"+c.peer.farewell))
			ended = s
		}
	}
	c.moved()
	return ended, nil
}

func (c *Conn) windowUpdate(f frameHeader, more uint32) (*Stream, error) {
	c.mu.Lock()
	s, known := c.streams[f.stream], f.stream == 0 || c.wasOpened(f.stream)
	window := &c.out.window
	if s != nil {
		window = &s.sendWindow
	}
	if s == nil && f.stream != 0 {
		window = nil
	}
	var bad string
	code := http2.ErrCodeProtocol
	switch {
	case !known:
		bad = fmt.Sprintf("WINDOW_UPDATE for stream %d, which nobody opened", f.stream)
	case window == nil:
	case more == 0:
		bad = fmt.Sprintf("WINDOW_UPDATE of 0 for stream %d", f.stream)
	case *window+int64(more) > maxWindow:
		code, bad = http2.ErrCodeFlowControl, fmt.Sprintf("WINDOW_UPDATE beyond the largest window for stream %d", f.stream)
	default:
		*window += int64(more)
		if s != nil {
			c.out.queue(s)
		}
	}
	c.mu.Unlock()
	switch {
	case bad == "":
		return nil, nil // what may be sent now is, before the next read
	case s == nil:
		return nil, c.breach(code, "%s", bad)
	default:
		c.fail(s, code, status.Error(codes.Internal, "the control plane broke HTTP/2 ("+code.String()+"): "+bad))
		return s, nil
	}
}

// resetByPeer ends a stream that the peer has ended.
func (c *Conn) resetByPeer(f frameHeader, code http2.ErrCode) (*Stream, error) {
	c.mu.Lock()
	s, known := c.streams[f.stream], c.wasOpened(f.stream)
	if s != nil {
		c.end(s, status.Errorf(codeOfReset(code), "the control plane reset the stream (%v)", code))
	}
	c.mu.Unlock()
	if !known {
		return nil, c.breach(http2.ErrCodeProtocol, "RST_STREAM for stream %d, which nobody opened", f.stream)
	}
	return s, nil
}
