package faults

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// preciseTimer calls functions at set times, in order, from one goroutine.
//
// Go's own timers are too coarse: the runtime waits for them in epoll_wait(2),
// which counts whole milliseconds. This one waits in ppoll(2), which counts
// nanoseconds, on a thread of its own without timer slack.
type preciseTimer struct {
	mu      sync.Mutex
	calls   []timedCall // by due time
	running bool
	wake    int // an eventfd, while running
}

type timedCall struct {
	due  time.Time
	call func()
}

// at schedules call for due, after earlier calls of the same instant. After the
// end of run it does nothing.
func (t *preciseTimer) at(due time.Time, call func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, _ := slices.BinarySearchFunc(t.calls, due, func(c timedCall, due time.Time) int {
		if c.due.After(due) {
			return 1
		}
		return -1
	})
	t.calls = slices.Insert(t.calls, i, timedCall{due: due, call: call})
	if i == 0 {
		t.wakeLocked()
	}
}

func (t *preciseTimer) wakeLocked() {
	if t.running {
		// It fails only if the counter is full, and then it has been woken.
		_, _ = unix.Write(t.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

// run makes the calls until ctx is done. It must be called once.
func (t *preciseTimer) run(ctx context.Context) error {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("timer of injected faults: %w", err)
	}
	t.mu.Lock()
	t.wake, t.running = wake, true
	t.mu.Unlock()
	defer t.close()
	stop := context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.wakeLocked()
	})
	defer stop()
	// Never unlocked: the thread, whose timer slack is changed, ends with the goroutine.
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it, up to 50 µs late
	for ctx.Err() == nil {
		call, timeout := t.next()
		if call != nil {
			call()
		} else if err := t.wait(timeout); err != nil {
			return err
		}
	}
	return nil
}

// next returns the call that is due, or else how long to wait for it: nil means
// until woken.
func (t *preciseTimer) next() (call func(), timeout *unix.Timespec) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.calls) == 0 {
		return nil, nil
	}
	if left := time.Until(t.calls[0].due); left > 0 {
		spec := unix.NsecToTimespec(int64(left))
		return nil, &spec
	}
	call = t.calls[0].call
	t.calls[0] = timedCall{}
	t.calls = t.calls[1:]
	return call, nil
}

func (t *preciseTimer) wait(timeout *unix.Timespec) error {
	polled := []unix.PollFd{{Fd: int32(t.wake), Events: unix.POLLIN}}
	n, err := unix.Ppoll(polled, timeout, nil)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("timer of injected faults: %w", err)
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
	t.running, t.calls = false, nil
	_ = unix.Close(t.wake)
}
