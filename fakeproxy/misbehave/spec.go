package misbehave

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/internal/rate"
)

// The values of Delay.Distribution.
const (
	Constant    = "constant"
	Uniform     = "uniform"
	Exponential = "exponential"
)

// The values of HalfOpen.From.
const (
	FromStream = "stream"
	FromReady  = "ready"
)

// Nack says how often which valid responses are rejected on purpose.
type Nack struct {
	// Rate is the share, 0 to 1, of the responses that Types and Names select.
	Rate float64 `json:"rate" role:"load"`
	// Types are the resource types, such as "cds"; empty means all.
	Types []string `json:"types,omitempty" role:"load"`
	// Names select responses that add or remove a resource of one of these
	// names; empty means all. A "*" stands for any text and then the whole name
	// must match; without one, a part of the name is enough.
	Names []string `json:"names,omitempty" role:"load"`
}

// Delay is a distribution of delays. In a profile, a plain duration such as
// "50ms" means a constant one.
type Delay struct {
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

// SlowRead makes proxies leave their socket unread, so that the control
// plane's sending is held up by TCP. It needs a connection per proxy.
type SlowRead struct {
	// Share of the proxies, 0 to 1; which ones is drawn from the seed.
	Share float64 `json:"share" role:"load"`
	// BytesPerSecond is how fast they read; or else they rest for Pause before
	// each read of at most 32 KiB.
	BytesPerSecond int             `json:"bytesPerSecond,omitempty" role:"load"`
	Pause          metav1.Duration `json:"pause,omitzero" role:"load"`
}

// Disconnects makes proxies drop their connection and come back by their
// back-off, as a Poisson process that is drawn from the seed. It begins when the
// last proxy has begun to connect. Where proxies share a connection, only the
// stream ends.
type Disconnects struct {
	// Rate is how many disconnects there are per second in the whole fleet.
	Rate rate.Rate `json:"rate" role:"load"`
}

// Storms makes many proxies drop their connections at one moment, over and
// over, and come back by their back-off. It begins as disconnects do.
type Storms struct {
	// Every is the time between two storms. 0 means none.
	Every metav1.Duration `json:"every" role:"load"`
	// Share of the proxies, 0 to 1, each time drawn from the seed. 1 means all.
	Share float64 `json:"share" role:"load"`
}

// HalfOpen makes proxies stop reading for ever while their connection stays
// open: as a peer that has vanished. They never get, or never notice, anything
// after that. It needs a connection per proxy.
type HalfOpen struct {
	// Share of the proxies, 0 to 1; which ones is drawn from the seed.
	Share float64 `json:"share" role:"load"`
	// From is when they fall silent: "stream" as soon as the first requests are
	// on their way, "ready" as soon as they are ready.
	From string `json:"from" role:"load"`
}

// plainDelay has the fields of a Delay, without its notation.
type plainDelay Delay

// UnmarshalJSON reads a plain duration, or an object without unknown fields.
func (d *Delay) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*d = Delay{Distribution: Constant}
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
	*d = Delay(p)
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads, a constant delay plainly.
func (d Delay) MarshalJSON() ([]byte, error) {
	if d.Distribution == Constant || d == (Delay{}) {
		return json.Marshal(d.Value)
	}
	return json.Marshal(plainDelay(d))
}
