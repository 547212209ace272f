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

// countWaiting has the kernel tell with each read how many bytes are left to read.
// https://www.kernel.org/doc/html/latest/networking (TCP_INQ, since Linux 4.18). A unix
// socket has no such option.
func countWaiting(c syscall.RawConn) error {
	var opt error
	err := c.Control(func(fd uintptr) {
		opt = unix.SetsockoptInt(int(fd), unix.SOL_TCP, unix.TCP_INQ, 1)
	})
	return errors.Join(err, opt)
}

// unknownLeft is what is left to read where the kernel does not tell.
const unknownLeft = -1

// receive makes one read of a socket, and returns when the last of its bytes got there, by
// the wall clock, the zero time if the kernel does not tell; and how many bytes are left.
// unix.Recvmsg does the same, and allocates 220 bytes for an address that TCP does
// not have.
func receive(fd int, b []byte) (n int, arrival time.Time, left int, err error) {
	var control [96]byte
	for {
		piece := unix.Iovec{Base: &b[0]}
		piece.SetLen(len(b))
		m := unix.Msghdr{Iov: &piece, Control: &control[0]}
		m.SetIovlen(1)
		m.SetControllen(len(control))
		got, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&m)), 0)
		if errno == 0 {
			arrival, left = told(control[:m.Controllen])
			return int(got), arrival, left, nil
		}
		if errno != unix.EINTR {
			return 0, time.Time{}, 0, errno
		}
	}
}

// told returns what control messages say of a read.
func told(control []byte) (arrival time.Time, left int) {
	left = unknownLeft
	for len(control) >= unix.CmsgSpace(0) {
		h, data, rest, err := unix.ParseOneSocketControlMessage(control)
		switch {
		case err != nil:
			return arrival, left
		case h.Level == unix.SOL_SOCKET && h.Type == unix.SCM_TIMESTAMPNS && len(data) >= 16:
			sec, nsec := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
			arrival = time.Unix(int64(sec), int64(nsec))
		case h.Level == unix.SOL_TCP && h.Type == unix.TCP_CM_INQ && len(data) >= 4:
			left = int(int32(binary.NativeEndian.Uint32(data)))
		}
		control = rest
	}
	return arrival, left
}
