package fakeproxy

import (
	"runtime"

	"google.golang.org/grpc/mem"
)

const (
	// scratchPerCPU is more than one, for whoever holds a buffer may wait for a
	// lock meanwhile.
	scratchPerCPU = 4
	// keptScratch is how large a buffer may be, in bytes, to be kept.
	keptScratch = 4 << 20
)

// scratch are the buffers in which messages that came in pieces are put
// together. They are as few as messages can be worked on at once: if each
// proxy took one of its own, a fleet that syncs would hold every message twice.
type scratch struct{ free chan []byte }

func newScratch() scratch {
	s := scratch{free: make(chan []byte, scratchPerCPU*runtime.GOMAXPROCS(0))}
	for range cap(s.free) {
		s.free <- nil
	}
	return s
}

// whole returns the bytes of a message in one piece. They are good until the
// buffer is given back to done.
func (s *scratch) whole(data mem.BufferSlice) (b, buffer []byte, taken bool) {
	switch len(data) {
	case 0:
		return nil, nil, false
	case 1:
		return data[0].ReadOnlyData(), nil, false
	}
	buffer = <-s.free
	if n := data.Len(); cap(buffer) < n {
		buffer = make([]byte, n+n/4)
	}
	buffer = buffer[:cap(buffer)]
	return buffer[:data.CopyTo(buffer)], buffer, true
}

func (s *scratch) done(buffer []byte) {
	if cap(buffer) > keptScratch {
		buffer = nil
	}
	s.free <- buffer
}
