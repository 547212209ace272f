package h2

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// frameHeader is what a frame begins with (RFC 9113, 4.1).
type frameHeader struct {
	size   int // of the payload
	kind   http2.FrameType
	flags  http2.Flags
	stream uint32
}

func parseFrameHeader(b []byte) frameHeader {
	return frameHeader{
		size: int(b[0])<<16 | int(b[1])<<8 | int(b[2]), kind: http2.FrameType(b[3]), flags: http2.Flags(b[4]),
		stream: binary.BigEndian.Uint32(b[5:]) &^ (1 << 31),
	}
}

func appendFrameHeader(b []byte, size int, kind http2.FrameType, flags http2.Flags, stream uint32) []byte {
	return append(b, byte(size>>16), byte(size>>8), byte(size), byte(kind), byte(flags),
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

func appendUint32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }

func appendSetting(b []byte, id http2.SettingID, value uint32) []byte {
	return appendUint32(binary.BigEndian.AppendUint16(b, uint16(id)), value)
}

func appendWindowUpdate(b []byte, stream, more uint32) []byte {
	return appendUint32(appendFrameHeader(b, 4, http2.FrameWindowUpdate, 0, stream), more)
}

func appendReset(b []byte, stream uint32, code http2.ErrCode) []byte {
	return appendUint32(appendFrameHeader(b, 4, http2.FrameRSTStream, 0, stream), uint32(code))
}
