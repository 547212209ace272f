package adsconn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stampArrivals has the kernel tell with each read when the bytes reached this
// machine. What they wait from then on, for the poller, for a processor or for the
// reader, is the harness's own part of a latency.
// For TCP it is the time of the last byte that a read returns, also where the kernel
// has merged segments; since Linux 4.14 (commit 98aaa913b4ed).
// https://www.kernel.org/doc/html/latest/networking/timestamping.html
func stampArrivals(c syscall.RawConn) error {
	var opt error
	err := c.Control(func(fd uintptr) {
		opt = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
	if err := errors.Join(err, opt); err != nil {
		return fmt.Errorf("asking the kernel for times of arrival (SO_TIMESTAMPNS): %w", err)
	}
	return nil
}

// stampSpace is the size of the control message that carries a timestamp, of two
// integers of 64 bits.
func stampSpace() int { return unix.CmsgSpace(16) }

// receive makes one read of a socket, and returns when the last of its bytes got
// there, by the wall clock; the zero time if the kernel does not tell.
// unix.Recvmsg does the same, and allocates 220 bytes for an address that TCP does
// not have.
func receive(fd int, b []byte) (n int, arrival time.Time, err error) {
	var control [64]byte
	for {
		piece := unix.Iovec{Base: &b[0]}
		piece.SetLen(len(b))
		m := unix.Msghdr{Iov: &piece, Control: &control[0]}
		m.SetIovlen(1)
		m.SetControllen(stampSpace())
		got, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&m)), 0)
		if errno == 0 {
			return int(got), stampIn(control[:m.Controllen]), nil
		}
		if errno != unix.EINTR {
			return 0, time.Time{}, errno
		}
	}
}

// stampIn returns the timestamp in a control message, the zero time if there is none.
func stampIn(control []byte) time.Time {
	if len(control) < stampSpace() {
		return time.Time{}
	}
	h, data, _, err := unix.ParseOneSocketControlMessage(control)
	if err != nil || h.Level != unix.SOL_SOCKET || h.Type != unix.SCM_TIMESTAMPNS {
		return time.Time{}
	}
	sec, nsec := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
	return time.Unix(int64(sec), int64(nsec))
}
