package controlplane

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// preciseTimer calls functions at set times, in order, from one goroutine.
//
// Go's own timers will not do: the runtime waits for them in epoll_wait(2),
// which counts whole milliseconds. This one waits in ppoll(2), which counts
// nanoseconds, on a thread of its own without timer slack.
type preciseTimer struct {
	wake int // an eventfd

	mu     sync.Mutex
	closed bool
	queue  timerQueue
	number uint64 // of the last entry
}

type timerEntry struct {
	due    time.Time
	number uint64 // keeps entries of one instant in order
	call   func()
}

func newPreciseTimer() (*preciseTimer, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("timer of injected delays: %w", err)
	}
	return &preciseTimer{wake: fd}, nil
}

// at arranges for call at due. After the end of run it does nothing.
func (t *preciseTimer) at(due time.Time, call func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.number++
	heap.Push(&t.queue, timerEntry{due: due, number: t.number, call: call})
	if t.queue[0].number == t.number {
		t.wakeLocked()
	}
}

func (t *preciseTimer) wakeLocked() {
	if !t.closed {
		// It fails only if the counter is full, and then it has been woken.
		_, _ = unix.Write(t.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

// run makes the calls until ctx is done. It must be called once.
func (t *preciseTimer) run(ctx context.Context) error {
	// Never unlocked: the thread, whose slack is changed, ends with the goroutine.
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it, up to 50 µs late
	stop := context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.wakeLocked()
	})
	defer stop()
	defer t.close()
	for ctx.Err() == nil {
		call, wait := t.next()
		if call != nil {
			call()
			continue
		}
		if err := t.sleep(wait); err != nil {
			return err
		}
	}
	return nil
}

// next returns the call that is due, or how long to wait for it: nil for ever.
func (t *preciseTimer) next() (call func(), wait *unix.Timespec) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return nil, nil
	}
	left := time.Until(t.queue[0].due)
	if left > 0 {
		spec := unix.NsecToTimespec(int64(left))
		return nil, &spec
	}
	return heap.Pop(&t.queue).(timerEntry).call, nil
}

func (t *preciseTimer) sleep(wait *unix.Timespec) error {
	polled := []unix.PollFd{{Fd: int32(t.wake), Events: unix.POLLIN}}
	n, err := unix.Ppoll(polled, wait, nil)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("timer of injected delays: %w", err)
	}
	if n > 0 {
		var counter [8]byte
		_, _ = unix.Read(t.wake, counter[:]) // only ever empties the counter
	}
	return nil
}

func (t *preciseTimer) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	_ = unix.Close(t.wake)
}

// timerQueue is a heap of entries, the first due on top.
type timerQueue []timerEntry

var _ heap.Interface = (*timerQueue)(nil)

func (q timerQueue) Len() int { return len(q) }
func (q timerQueue) Less(i, j int) bool {
	if q[i].due.Equal(q[j].due) {
		return q[i].number < q[j].number
	}
	return q[i].due.Before(q[j].due)
}
func (q timerQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *timerQueue) Push(e any)   { *q = append(*q, e.(timerEntry)) }
func (q *timerQueue) Pop() any {
	last := (*q)[len(*q)-1]
	(*q)[len(*q)-1] = timerEntry{}
	*q = (*q)[:len(*q)-1]
	return last
}
