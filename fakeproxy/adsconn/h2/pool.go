package h2

import "sync"

// BufferPool has buffers of one size. Their content is whatever it was.
type BufferPool struct {
	size int
	pool sync.Pool
}

func newBufferPool(size int) *BufferPool { return &BufferPool{size: size} }

// Get returns a buffer of the pool's size.
func (p *BufferPool) Get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, p.size)
	return &b
}

// Put gives a buffer back.
func (p *BufferPool) Put(b *[]byte) {
	*b = (*b)[:p.size]
	p.pool.Put(b)
}

// Buffers are what all connections share to read and write. Most of what is written is an
// ACK, and small.
type Buffers struct{ reads, smallWrites, largeWrites *BufferPool }

// NewBuffers returns empty pools.
func NewBuffers() *Buffers {
	return &Buffers{reads: newBufferPool(readSize), smallWrites: newBufferPool(1 << 10), largeWrites: newBufferPool(writeSize)}
}

// writes returns the pool for a write of that many bytes at most.
func (b *Buffers) writes(size int) *BufferPool {
	if size <= b.smallWrites.size {
		return b.smallWrites
	}
	return b.largeWrites
}
