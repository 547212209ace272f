package fakeproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/internal/rate"
)

// The values of DelaySpec.Distribution.
const (
	DelayConstant    = "constant"
	DelayUniform     = "uniform"
	DelayExponential = "exponential"
)

// The values of HalfOpenSpec.From.
const (
	HalfOpenFromStream = "stream"
	HalfOpenFromReady  = "ready"
)

// NackSpec says how often which valid responses are rejected on purpose.
type NackSpec struct {
	// Rate is the share, 0 to 1, of the responses that Types and Names select.
	Rate float64 `json:"rate" role:"load"`
	// Types are the resource types, such as "cds"; empty means all.
	Types []string `json:"types,omitempty" role:"load"`
	// Names select responses that add or remove a resource of one of these
	// names; empty means all. A "*" stands for any text and then the whole name
	// must match; without one, a part of the name is enough.
	Names []string `json:"names,omitempty" role:"load"`
}

// DelaySpec is a distribution of delays. In a profile, a plain duration such as
// "50ms" means a constant one.
type DelaySpec struct {
	// Distribution is "constant", "uniform" or "exponential".
	Distribution string `json:"distribution,omitempty" role:"load"`
	// Value is the delay of a constant distribution.
	Value metav1.Duration `json:"value,omitzero" role:"load"`
	// Min and Max bound a uniform one.
	Min metav1.Duration `json:"min,omitzero" role:"load"`
	Max metav1.Duration `json:"max,omitzero" role:"load"`
	// Mean is that of an exponential one.
	Mean metav1.Duration `json:"mean,omitzero" role:"load"`
}

// SlowReadSpec makes proxies leave their socket unread, so that the control
// plane's sending is held up by TCP. It needs a connection per proxy.
type SlowReadSpec struct {
	// Share of the proxies, 0 to 1; which ones is drawn from the seed.
	Share float64 `json:"share" role:"load"`
	// BytesPerSecond is how fast they read; or else they rest for Pause before
	// each read of at most 32 KiB.
	BytesPerSecond int             `json:"bytesPerSecond,omitempty" role:"load"`
	Pause          metav1.Duration `json:"pause,omitzero" role:"load"`
}

// DisconnectSpec makes proxies drop their connection and come back by their
// back-off, as a Poisson process that is drawn from the seed. It begins when the
// last proxy has begun to connect. Where proxies share a connection, only the
// stream ends.
type DisconnectSpec struct {
	// Rate is how many disconnects there are per second in the whole fleet.
	Rate rate.Rate `json:"rate" role:"load"`
}

// StormSpec makes many proxies drop their connections at one moment, over and
// over, and come back by their back-off. It begins as disconnects do.
type StormSpec struct {
	// Every is the time between two storms. 0 means none.
	Every metav1.Duration `json:"every" role:"load"`
	// Share of the proxies, 0 to 1, each time drawn from the seed. 1 means all.
	Share float64 `json:"share" role:"load"`
}

// HalfOpenSpec makes proxies stop reading for ever while their connection stays
// open: as a peer that has vanished. They never get, or never notice, anything
// after that. It needs a connection per proxy.
type HalfOpenSpec struct {
	// Share of the proxies, 0 to 1; which ones is drawn from the seed.
	Share float64 `json:"share" role:"load"`
	// From is when they fall silent: "stream" as soon as the first requests are
	// on their way, "ready" as soon as they are ready.
	From string `json:"from" role:"load"`
}

// plainDelay has the fields of a DelaySpec, without its notation.
type plainDelay DelaySpec

// UnmarshalJSON reads a plain duration, or an object without unknown fields.
func (d *DelaySpec) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*d = DelaySpec{Distribution: DelayConstant}
		if err := json.Unmarshal(data, &d.Value); err != nil {
			return fmt.Errorf("%s: want a duration such as 50ms, or an object: %w", data, err)
		}
		return nil
	}
	var p plainDelay
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return fmt.Errorf("delay %s: want a duration such as 50ms, or an object with distribution "+
			"and value, min and max, or mean: %w", data, err)
	}
	*d = DelaySpec(p)
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads, a constant delay plainly.
func (d DelaySpec) MarshalJSON() ([]byte, error) {
	if d.Distribution == DelayConstant || d == (DelaySpec{}) {
		return json.Marshal(d.Value)
	}
	return json.Marshal(plainDelay(d))
}

// none reports whether there is no delay at all.
func (d DelaySpec) none() bool { return d.Value.Duration+d.Max.Duration+d.Mean.Duration == 0 }

// draw returns one delay.
func (d DelaySpec) draw(rng *rand.Rand) time.Duration {
	switch d.Distribution {
	case DelayUniform:
		return d.Min.Duration + time.Duration(rng.Int64N(int64(d.Max.Duration-d.Min.Duration)+1))
	case DelayExponential:
		return time.Duration(rng.ExpFloat64() * float64(d.Mean.Duration))
	default:
		return d.Value.Duration
	}
}

// misbehaviour lists what is wrong with the parts of the spec that make
// proxies misbehave.
func (s Spec) misbehaviour() error {
	errs := []error{s.Nack.problems(), s.ApplyDelay.problems(), s.SlowRead.problems(), s.HalfOpen.problems()}
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("proxies.%s: %v: %s", field, value, want))
	}
	const alone = "needs proxies.streamsPerConnection 1"
	if s.SlowRead.Share > 0 && s.StreamsPerConnection > 1 {
		bad("slowRead.share", s.SlowRead.Share, alone)
	}
	if s.HalfOpen.Share > 0 && s.StreamsPerConnection > 1 {
		bad("halfOpen.share", s.HalfOpen.Share, alone)
	}
	if s.Disconnects.Rate < 0 {
		bad("disconnects.rate", s.Disconnects.Rate, "must be 0/s (none) or more")
	}
	if !isShare(s.Storms.Share) {
		bad("storms.share", s.Storms.Share, "must be between 0 and 1")
	}
	if d := s.Storms.Every.Duration; d < 0 {
		bad("storms.every", d, "must be 0s (none) or more")
	} else if d > 0 && s.Storms.Share == 0 {
		bad("storms.share", s.Storms.Share, "must be above 0 for storms every "+d.String())
	}
	return errors.Join(errs...)
}

func isShare(x float64) bool { return x >= 0 && x <= 1 }

func (n NackSpec) problems() error {
	var errs []error
	if !isShare(n.Rate) {
		errs = append(errs, fmt.Errorf("proxies.nack.rate: %v: must be between 0 and 1", n.Rate))
	}
	for i, name := range n.Types {
		if _, ok := typeByShortName(name); !ok {
			errs = append(errs, fmt.Errorf("proxies.nack.types[%d]: %q: must be one of %s", i, name, shortNames()))
		}
	}
	for i, name := range n.Names {
		if name == "" {
			errs = append(errs, fmt.Errorf("proxies.nack.names[%d]: %q: must be a name or a part of one; * stands for any text", i, name))
		}
	}
	return errors.Join(errs...)
}

// problems also names fields that another distribution would use.
func (d DelaySpec) problems() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("proxies.applyDelay%s: %v: %s", field, value, want))
	}
	used := map[string][]string{
		"": {""}, DelayConstant: {"value"}, DelayUniform: {"min", "max"}, DelayExponential: {"mean"},
	}[d.Distribution]
	if used == nil {
		bad(".distribution", fmt.Sprintf("%q", d.Distribution), "must be constant, uniform or exponential")
		return errors.Join(errs...)
	}
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"value", d.Value.Duration}, {"min", d.Min.Duration}, {"max", d.Max.Duration}, {"mean", d.Mean.Duration}} {
		switch {
		case f.d < 0:
			bad("."+f.name, f.d, "must be 0s or more")
		case f.d > 0 && !strings.Contains(" "+strings.Join(used, " ")+" ", " "+f.name+" "):
			bad("."+f.name, f.d, fmt.Sprintf("is of no use with distribution %q", d.Distribution))
		}
	}
	if d.Distribution == DelayUniform && d.Max.Duration < d.Min.Duration {
		bad(".max", d.Max.Duration, "must be at least min, "+d.Min.Duration.String())
	}
	return errors.Join(errs...)
}

// Bounds that let a slow reader come up before grpc-go gives the connection up,
// after 20 s.
const (
	slowestRead = 16
	longestRest = 5 * time.Second
)

func (s SlowReadSpec) problems() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("proxies.slowRead.%s: %v: %s", field, value, want))
	}
	if !isShare(s.Share) {
		bad("share", s.Share, "must be between 0 and 1")
	}
	switch rests := s.Pause.Duration != 0; {
	case s.Share == 0 && s.BytesPerSecond == 0 && !rests:
	case rests == (s.BytesPerSecond != 0):
		bad("bytesPerSecond", s.BytesPerSecond, fmt.Sprintf("set either this or pause (%v)", s.Pause.Duration))
	case rests && (s.Pause.Duration < 0 || s.Pause.Duration > longestRest):
		bad("pause", s.Pause.Duration, fmt.Sprintf("must be above 0s and at most %v", longestRest))
	case !rests && s.BytesPerSecond < slowestRead:
		bad("bytesPerSecond", s.BytesPerSecond, fmt.Sprintf("must be at least %d", slowestRead))
	}
	return errors.Join(errs...)
}

func (h HalfOpenSpec) problems() error {
	var errs []error
	if !isShare(h.Share) {
		errs = append(errs, fmt.Errorf("proxies.halfOpen.share: %v: must be between 0 and 1", h.Share))
	}
	if h.Share > 0 && h.From != HalfOpenFromStream && h.From != HalfOpenFromReady {
		errs = append(errs, fmt.Errorf("proxies.halfOpen.from: %q: must be stream or ready", h.From))
	}
	return errors.Join(errs...)
}

// What is drawn from a seed, each by a generator of its own, so that one
// behaviour does not depend on whether another is on.
const (
	drawNacks = iota + 1<<32
	drawDelays
	drawSlow
	drawHalfOpen
	drawDisconnects
	drawStorms
	drawAddresses
)

// generator draws one thing from the seed, for one proxy or one occasion.
func generator(seed, what, i uint64) *rand.Rand { return rand.New(rand.NewPCG(seed^what<<16, i)) }

// chosen draws a share of n proxies: rounded, but at least one of a share above 0.
func chosen(rng *rand.Rand, share float64, n int) []int {
	if share <= 0 {
		return nil
	}
	k := max(1, int(math.Round(share*float64(n))))
	return rng.Perm(n)[:min(k, n)]
}

// pattern matches names: as a whole where it has a "*", else a part of them.
type pattern string

func (p pattern) matches(name string) bool {
	parts := strings.Split(string(p), "*")
	if len(parts) == 1 {
		return strings.Contains(name, parts[0])
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}
