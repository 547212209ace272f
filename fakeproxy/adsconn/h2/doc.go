// Package h2 is the client's side of gRPC over HTTP/2, for bidirectional streams of
// messages that are handed over as the bytes they came in. It is made for many
// connections that are idle most of the time: a connection with one stream has no
// goroutine and no buffer of its own. Whoever receives reads the socket, works through
// the frames and answers what the protocol wants answered, with one write before it
// waits again; whoever sends writes at once. Only when the socket takes no more does a
// goroutine write the rest. A connection that several streams share has one goroutine
// that reads.
//
// Reading order: conn.go (a connection and its streams), read.go (from the socket to
// frames), control.go (frames that are no data), stream.go (from data to messages),
// write.go (from messages to the socket), headers.go and status.go (how streams begin
// and end).
//
// Sources: RFC 9113 (HTTP/2), RFC 7541 (HPACK), and
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md. What a peer does
// against them ends the stream or the connection with an error that names it, and with
// the error code that the RFC asks for. What a peer can make a connection keep is
// bounded: by the windows for data, and by the limits in limits.go for the rest.
package h2
