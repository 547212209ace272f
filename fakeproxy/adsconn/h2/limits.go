package h2

import "time"

// What a peer may make a connection do or keep.
const (
	// maxFrameSize is the largest frame payload that is accepted, in bytes: what holds
	// where SETTINGS_MAX_FRAME_SIZE is not announced (RFC 9113, 6.5.2). Envoy does not
	// announce it either.
	maxFrameSize = 16 << 10
	// maxHeaderBlock bounds an encoded header block, and maxHeaderList what it is
	// decoded to, in bytes. Envoy's default is 60 KiB (max_request_headers_kb, and the
	// same for responses).
	maxHeaderBlock = 60 << 10
	maxHeaderList  = 60 << 10
	// maxContinuations bounds the frames of one header block: empty ones cost the peer
	// nothing.
	maxContinuations = 64
	// maxEmptyFrames bounds the DATA frames without payload that come one after the
	// other.
	maxEmptyFrames = 100
	// maxControl bounds the answers to PING and SETTINGS, in bytes, that wait for a peer
	// that does not read them.
	maxControl = 16 << 10

	readSize = 32 << 10
	// writeSize bounds what is framed and written at once.
	writeSize = 64 << 10

	// closeTimeout is for what is still being written when a connection closes.
	closeTimeout = time.Second
)

const (
	frameHeaderSize = 9
	prefixSize      = 5 // of a gRPC message: a byte that says if it is compressed, and its length
	defaultWindow   = 65_535
	maxWindow       = 1<<31 - 1
	maxStreamID     = 1<<31 - 1
)
