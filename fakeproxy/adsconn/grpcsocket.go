package adsconn

import "time"

// grpcSocket is a socket as grpc-go wants it.
type grpcSocket struct {
	*socket

	frames frameWriter
}

// Read reads from the socket, without the time of arrival. grpc-go calls ReadOnReady
// instead, as long as its interface for that does not change.
func (s *grpcSocket) Read(b []byte) (int, error) {
	if s.pacer != nil {
		if err := s.pacer.wait(); err != nil {
			return 0, err
		}
		b = b[:s.pacer.limit(len(b))]
	}
	n, err := s.Conn.Read(b)
	s.meter.read(n, time.Time{})
	if s.pacer != nil {
		s.pacer.note(n)
	}
	return n, err
}

// SetWriteDeadline bounds the writes of a connection that is being closed: grpc-go
// calls it only then. It would wait 5 s for a peer that reads nothing.
func (s *grpcSocket) SetWriteDeadline(t time.Time) error {
	if latest := time.Now().Add(closeTimeout); t.After(latest) {
		t = latest
	}
	return s.Conn.SetWriteDeadline(t)
}

// Write writes frames to the socket. grpc-go's goroutines take turns in it.
func (s *grpcSocket) Write(b []byte) (int, error) { return s.frames.Write(b) }

// counting writes to a connection's socket.
type counting struct{ s *socket }

func (w counting) Write(b []byte) (int, error) {
	n, err := w.s.Write(b)
	w.s.meter.out.Add(int64(n))
	return n, err
}
