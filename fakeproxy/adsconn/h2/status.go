package h2

import (
	"fmt"
	"io"
	"net/url"
	"strconv"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// codeOfReset is the gRPC status that an HTTP/2 error code stands for.
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#errors
func codeOfReset(code http2.ErrCode) codes.Code {
	switch code {
	case http2.ErrCodeRefusedStream:
		return codes.Unavailable
	case http2.ErrCodeCancel:
		return codes.Canceled
	case http2.ErrCodeEnhanceYourCalm:
		return codes.ResourceExhausted
	case http2.ErrCodeInadequateSecurity:
		return codes.PermissionDenied
	default:
		return codes.Internal
	}
}

// codeOfHTTP is the gRPC status of a response that is none of gRPC.
// https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md
func codeOfHTTP(httpStatus string) codes.Code {
	switch httpStatus {
	case "400":
		return codes.Internal
	case "401":
		return codes.Unauthenticated
	case "403":
		return codes.PermissionDenied
	case "404":
		return codes.Unimplemented
	case "429", "502", "503", "504":
		return codes.Unavailable
	default:
		return codes.Unknown
	}
}

// headersCame takes the headers or trailers of a stream, and returns why it has ended,
// if it has, with the error code to reset it with.
func (s *Stream) headersCame(f fields, end bool) (http2.ErrCode, error) {
	switch {
	case s.begun && !end:
		return http2.ErrCodeProtocol, status.Error(codes.Internal, "the control plane broke HTTP/2: headers within a stream")
	case f.isInformational() && !end:
		return 0, nil
	case !f.hasGRPCStatus && !s.begun && f.status != "200":
		return http2.ErrCodeCancel, status.Errorf(codeOfHTTP(f.status), "the control plane answered with HTTP status %q", f.status)
	case !s.begun && !f.isGRPC() && (!end || !f.hasGRPCStatus):
		return http2.ErrCodeCancel, status.Errorf(codes.Unknown, "the control plane answered with content type %q, which is not gRPC's", f.contentType)
	case end:
		return http2.ErrCodeNo, s.ending(f)
	}
	s.begun = true
	return 0, nil
}

// ending is what trailers say.
func (s *Stream) ending(f fields) error {
	if !f.hasGRPCStatus {
		return status.Error(codes.Internal, "the control plane ended the stream without a status")
	}
	n, err := strconv.ParseUint(f.grpcStatus, 10, 32)
	if err != nil {
		return status.Errorf(codes.Unknown, "the control plane ended the stream with grpc-status %q, which is no number", f.grpcStatus)
	}
	if codes.Code(n) == codes.OK {
		if s.within() {
			return status.Error(codes.Internal, "the control plane ended the stream within a message")
		}
		return io.EOF
	}
	return status.Error(codes.Code(n), decodeMessage(f.grpcMessage))
}

// decodeMessage undoes the percent encoding of grpc-message.
func decodeMessage(m string) string {
	if plain, err := url.PathUnescape(m); err == nil {
		return plain
	}
	return m
}

// tooLarge is what grpc-go says of a message that is larger than allowed.
func tooLarge(size, most int) error {
	return status.Error(codes.ResourceExhausted, fmt.Sprintf("received message larger than max (%d vs. %d)", size, most))
}
