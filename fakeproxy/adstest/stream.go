package adstest

import (
	"slices"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
)

// Request is a request of either variant. Names are resource_names in SotW and
// resource_names_subscribe in Delta.
type Request struct {
	TypeURL     string
	Version     string
	Nonce       string
	Names       []string
	Unsubscribe []string
	Initial     map[string]string
	// Error is the message of error_detail, and Code its code; a NACK has them.
	Error string
	Code  codes.Code
	Node  *corev3.Node
}

func fromSotW(r *discoveryv3.DiscoveryRequest) Request {
	return Request{
		TypeURL: r.GetTypeUrl(), Version: r.GetVersionInfo(), Nonce: r.GetResponseNonce(),
		Names: slices.Clone(r.GetResourceNames()), Error: r.GetErrorDetail().GetMessage(),
		Code: codes.Code(r.GetErrorDetail().GetCode()), Node: r.GetNode(),
	}
}

func fromDelta(r *discoveryv3.DeltaDiscoveryRequest) Request {
	return Request{
		TypeURL: r.GetTypeUrl(), Nonce: r.GetResponseNonce(),
		Names: slices.Clone(r.GetResourceNamesSubscribe()), Unsubscribe: r.GetResourceNamesUnsubscribe(),
		Initial: r.GetInitialResourceVersions(), Error: r.GetErrorDetail().GetMessage(),
		Code: codes.Code(r.GetErrorDetail().GetCode()), Node: r.GetNode(),
	}
}

// Stream is one ADS stream, in the hands of a test.
type Stream struct {
	tb       testing.TB
	grpc     grpc.ServerStream
	requests chan Request
	held     []Request // received while another type was expected
	end      chan error
	gone     chan struct{}
}

// Expect returns the next request for a type. Requests for others are kept.
func (s *Stream) Expect(typeURL string) Request {
	s.tb.Helper()
	if i := slices.IndexFunc(s.held, func(r Request) bool { return r.TypeURL == typeURL }); i >= 0 {
		r := s.held[i]
		s.held = slices.Delete(s.held, i, i+1)
		return r
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		select {
		case r := <-s.requests:
			if r.TypeURL == typeURL {
				return r
			}
			s.held = append(s.held, r)
		case <-deadline.C:
			s.tb.Fatalf("no request for %s in time; kept: %+v", typeURL, s.held)
		}
	}
}

// Next returns the next request of any type.
func (s *Stream) Next() Request {
	s.tb.Helper()
	if len(s.held) > 0 {
		r := s.held[0]
		s.held = s.held[1:]
		return r
	}
	select {
	case r := <-s.requests:
		return r
	case <-time.After(patience):
		s.tb.Fatal("no request in time")
		return Request{}
	}
}

// ExpectNone fails the test if a request for a type comes within d.
func (s *Stream) ExpectNone(typeURL string, d time.Duration) {
	s.tb.Helper()
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	for {
		if i := slices.IndexFunc(s.held, func(r Request) bool { return r.TypeURL == typeURL }); i >= 0 {
			s.tb.Fatalf("unexpected request %+v", s.held[i])
		}
		select {
		case r := <-s.requests:
			s.held = append(s.held, r)
		case <-deadline.C:
			return
		}
	}
}

// Send sends a *DiscoveryResponse or *DeltaDiscoveryResponse.
func (s *Stream) Send(m any) {
	s.tb.Helper()
	if err := s.grpc.SendMsg(m); err != nil {
		s.tb.Fatalf("sending: %v", err)
	}
}

// Client is the address that the client connects from, HOST:PORT.
func (s *Stream) Client() string {
	if p, ok := peer.FromContext(s.grpc.Context()); ok {
		return p.Addr.String()
	}
	return ""
}

// End ends the stream with a status error, or well with nil.
func (s *Stream) End(err error) { s.end <- err }

// Gone waits until the client has ended the stream.
func (s *Stream) Gone() {
	s.tb.Helper()
	select {
	case <-s.gone:
	case <-time.After(patience):
		s.tb.Fatal("the stream did not end in time")
	}
}
