package fakeproxy

import (
	"runtime"

	"github.com/xdsbench/xdsbench/fakeproxy/adsconn"
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
func (s *scratch) whole(m *adsconn.Message) (b, buffer []byte, taken bool) {
	switch len(m.Pieces) {
	case 0:
		return nil, nil, false
	case 1:
		return m.Pieces[0], nil, false
	}
	buffer = <-s.free
	if n := m.Size(); cap(buffer) < n {
		buffer = make([]byte, 0, n+n/4)
	}
	b = buffer[:0]
	for _, piece := range m.Pieces {
		b = append(b, piece...)
	}
	return b, buffer, true
}

func (s *scratch) done(buffer []byte) {
	if cap(buffer) > keptScratch {
		buffer = nil
	}
	s.free <- buffer
}
