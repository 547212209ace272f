package misbehave

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Validate lists everything that is wrong with the profile's proxies.disconnects.
func (d Disconnects) Validate() error {
	if d.Rate < 0 {
		return fmt.Errorf("proxies.disconnects.rate: %v: must be 0/s (none) or more", d.Rate)
	}
	return nil
}

// Validate lists everything that is wrong with the profile's proxies.storms.
func (s Storms) Validate() error {
	var errs []error
	if !isShare(s.Share) {
		errs = append(errs, fmt.Errorf("proxies.storms.share: %v: must be between 0 and 1", s.Share))
	}
	if d := s.Every.Duration; d < 0 {
		errs = append(errs, fmt.Errorf("proxies.storms.every: %v: must be 0s (none) or more", d))
	} else if d > 0 && s.Share == 0 {
		errs = append(errs, fmt.Errorf("proxies.storms.share: %v: must be above 0 for storms every %v", s.Share, d))
	}
	return errors.Join(errs...)
}

func isShare(x float64) bool { return x >= 0 && x <= 1 }

// Validate lists everything that is wrong with the profile's proxies.nack.
func (n Nack) Validate() error {
	var errs []error
	if !isShare(n.Rate) {
		errs = append(errs, fmt.Errorf("proxies.nack.rate: %v: must be between 0 and 1", n.Rate))
	}
	for i, name := range n.Types {
		if known := typeNames(); !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("proxies.nack.types[%d]: %q: must be one of %s", i, name, strings.Join(known, ", ")))
		}
	}
	for i, name := range n.Names {
		if name == "" {
			errs = append(errs, fmt.Errorf("proxies.nack.names[%d]: %q: must be a name or a part of one; * stands for any text", i, name))
		}
	}
	return errors.Join(errs...)
}

// Validate lists everything that is wrong with the profile's proxies.applyDelay,
// also fields that another distribution would use.
func (d Delay) Validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("proxies.applyDelay%s: %v: %s", field, value, want))
	}
	used := map[string][]string{
		"": {""}, Constant: {"value"}, Uniform: {"min", "max"}, Exponential: {"mean"},
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
	if d.Distribution == Uniform && d.Max.Duration < d.Min.Duration {
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

// Validate lists everything that is wrong with the profile's proxies.slowRead.
func (s SlowRead) Validate() error {
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

// Validate lists everything that is wrong with the profile's proxies.halfOpen.
func (h HalfOpen) Validate() error {
	var errs []error
	if !isShare(h.Share) {
		errs = append(errs, fmt.Errorf("proxies.halfOpen.share: %v: must be between 0 and 1", h.Share))
	}
	if h.Share > 0 && h.From != FromStream && h.From != FromReady {
		errs = append(errs, fmt.Errorf("proxies.halfOpen.from: %q: must be stream or ready", h.From))
	}
	return errors.Join(errs...)
}
