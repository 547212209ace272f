package fakeproxy

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/misbehave"
	"github.com/xdsbench/xdsbench/fakeproxy/node"
	"github.com/xdsbench/xdsbench/internal/rate"
)

// The values of Spec.Variant.
const (
	VariantSotW  = "sotw"
	VariantDelta = "delta"
	VariantMixed = "mixed"
)

// The values of Spec.SotWDuplicates.
const (
	DuplicatesNack = "nack"
	DuplicatesLast = "last"
)

// The values of Spec.Unwatched.
const (
	UnwatchedAccept = "accept"
	UnwatchedOld    = "old-version"
)

// The values of Spec.Transport.
const (
	TransportGRPC = "grpc"
	TransportLean = "lean"
)

// Spec describes a fleet, as the profile's section "proxies".
type Spec struct {
	// Count is the number of proxies.
	Count int `json:"count" role:"load"`
	// Variant is "sotw", "delta" or "mixed" (alternating).
	Variant string `json:"variant" role:"setting"`
	// Kinds is what the fleet is made up of, such as sidecar: 9, router: 1.
	Kinds node.Shares `json:"kinds,omitempty" role:"load"`
	// ConnectRate is how many proxies connect per second.
	ConnectRate rate.Rate `json:"connectRate" role:"load"`
	// StreamsPerConnection is how many proxies share one TCP connection. An
	// Envoy has its own: 1.
	StreamsPerConnection int `json:"streamsPerConnection" role:"load"`
	// Transport is what carries the streams: "grpc", which is grpc-go, or "lean", an
	// HTTP/2 client of our own that costs a fraction of its processor and memory.
	Transport string `json:"transport" role:"setting"`
	// SourceAddresses are the loopback addresses to connect from. Empty means
	// one, or as many as the ephemeral ports require.
	SourceAddresses []string `json:"sourceAddresses,omitempty" role:"setting"`
	// MaxReceiveBytes bounds one response, in bytes. 0 means unlimited.
	MaxReceiveBytes int `json:"maxReceiveBytes" role:"setting"`
	// InitialFetchTimeout is how long a cluster or listener waits for the
	// endpoints or routes it names. 0 means for ever.
	InitialFetchTimeout metav1.Duration `json:"initialFetchTimeout" role:"load"`
	// Reconnect is the back-off between connection attempts.
	Reconnect ReconnectSpec `json:"reconnect"`
	// Nack makes proxies reject valid responses.
	Nack misbehave.Nack `json:"nack"`
	// ApplyDelay is how long a proxy takes to apply a response: the answer, and
	// the next response, wait.
	ApplyDelay misbehave.Delay `json:"applyDelay"`
	// SlowRead, Disconnects, Storms and HalfOpen make proxies misbehave. What
	// they did is in Counts.
	SlowRead    misbehave.SlowRead    `json:"slowRead"`
	Disconnects misbehave.Disconnects `json:"disconnects"`
	Storms      misbehave.Storms      `json:"storms"`
	HalfOpen    misbehave.HalfOpen    `json:"halfOpen"`
	// Turnover makes proxies come and go with the pods that churn adds and removes.
	Turnover Turnover `json:"turnover"`
	// SotWDuplicates says what a SotW proxy does with a response that repeats a
	// name: "nack", or take the "last".
	SotWDuplicates string `json:"sotwDuplicates" role:"load"`
	// Unwatched says what a SotW proxy does with resources of a type that it has ceased to
	// ask for: "accept" them, and hold none; or, as Envoy does, answer at the
	// "old-version", which control planes may take for a request to send them again.
	Unwatched string `json:"unwatched" role:"load"`
}

// ReconnectSpec is an exponential back-off with full jitter.
type ReconnectSpec struct {
	// Initial bounds the first delay, Max every delay.
	Initial metav1.Duration `json:"initial" role:"load"`
	Max     metav1.Duration `json:"max" role:"load"`
}

// DefaultSpec returns the defaults: 100 Delta proxies connecting at 200/s,
// each over its own connection, with Envoy's timeouts.
func DefaultSpec() Spec {
	return Spec{
		Count:                100,
		Variant:              VariantDelta,
		ConnectRate:          200,
		StreamsPerConnection: 1,
		Transport:            TransportGRPC,
		InitialFetchTimeout:  metav1.Duration{Duration: 15 * time.Second},
		Reconnect: ReconnectSpec{
			Initial: metav1.Duration{Duration: 500 * time.Millisecond},
			Max:     metav1.Duration{Duration: 30 * time.Second},
		},
		ApplyDelay:     misbehave.Delay{Distribution: misbehave.Constant},
		Storms:         misbehave.Storms{Share: 1},
		HalfOpen:       misbehave.HalfOpen{From: misbehave.FromStream},
		SotWDuplicates: DuplicatesNack,
		Unwatched:      UnwatchedAccept,
	}
}

// VariantOf returns the variant of the ith proxy of a kind, i from 0. Mixed
// variants alternate within each kind, SotW first, so that every kind has both; but
// what ztunnel asks for is served in the Delta variant only.
func (s Spec) VariantOf(kind string, i int) xds.Variant {
	switch {
	case kind == node.Ztunnel, s.Variant == VariantDelta, s.Variant == VariantMixed && i%2 == 1:
		return xds.Delta
	default:
		return xds.SotW
	}
}

// Validate lists everything that is wrong with the spec, one line each.
func (s Spec) Validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("proxies.%s: %v: %s", field, value, want))
	}
	if s.Count < 1 {
		bad("count", s.Count, "must be at least 1")
	}
	if s.Variant != VariantSotW && s.Variant != VariantDelta && s.Variant != VariantMixed {
		bad("variant", fmt.Sprintf("%q", s.Variant), "must be sotw, delta or mixed")
	}
	if s.Transport != TransportGRPC && s.Transport != TransportLean {
		bad("transport", fmt.Sprintf("%q", s.Transport), "must be grpc or lean")
	}
	if s.ConnectRate <= 0 {
		bad("connectRate", s.ConnectRate, "must be above 0/s")
	}
	if s.MaxReceiveBytes < 0 {
		bad("maxReceiveBytes", s.MaxReceiveBytes, "must be 0 (unlimited) or more")
	}
	if s.SotWDuplicates != DuplicatesNack && s.SotWDuplicates != DuplicatesLast {
		bad("sotwDuplicates", fmt.Sprintf("%q", s.SotWDuplicates), "must be nack or last")
	}
	if s.Unwatched != UnwatchedAccept && s.Unwatched != UnwatchedOld {
		bad("unwatched", fmt.Sprintf("%q", s.Unwatched), "must be accept or old-version")
	}
	if d := s.InitialFetchTimeout.Duration; d < 0 {
		bad("initialFetchTimeout", d, "must be 0s (for ever) or more")
	}
	return errors.Join(append(errs, s.validateConnections(), s.Kinds.Validate(), s.Turnover.Validate(s.Kinds), s.Reconnect.validate(), s.Nack.Validate(), s.ApplyDelay.Validate(),
		s.SlowRead.Validate(), s.HalfOpen.Validate(), s.Disconnects.Validate(), s.Storms.Validate())...)
}

// validateConnections checks what concerns the proxies' connections.
func (s Spec) validateConnections() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("proxies.%s: %v: %s", field, value, want))
	}
	if s.StreamsPerConnection < 1 {
		bad("streamsPerConnection", s.StreamsPerConnection, "must be at least 1")
	}
	for i, a := range s.SourceAddresses {
		if ip, err := netip.ParseAddr(a); err != nil || !ip.Is4() || !ip.IsLoopback() {
			bad(fmt.Sprintf("sourceAddresses[%d]", i), fmt.Sprintf("%q", a), "must be a loopback address, such as 127.0.0.2")
		}
	}
	const ownConnection = "needs proxies.streamsPerConnection 1"
	if s.SlowRead.Share > 0 && s.StreamsPerConnection > 1 {
		bad("slowRead.share", s.SlowRead.Share, ownConnection)
	}
	if s.HalfOpen.Share > 0 && s.StreamsPerConnection > 1 {
		bad("halfOpen.share", s.HalfOpen.Share, ownConnection)
	}
	return errors.Join(errs...)
}

func (r ReconnectSpec) validate() error {
	var errs []error
	if r.Initial.Duration <= 0 {
		errs = append(errs, fmt.Errorf("proxies.reconnect.initial: %v: must be above 0s", r.Initial.Duration))
	}
	if r.Max.Duration < r.Initial.Duration {
		errs = append(errs, fmt.Errorf("proxies.reconnect.max: %v: must be at least reconnect.initial, %v",
			r.Max.Duration, r.Initial.Duration))
	}
	return errors.Join(errs...)
}
