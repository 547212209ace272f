package event

import "time"

// Time is an instant of a run: nanoseconds since the base of the run's Clock,
// on the monotonic clock. The zero Time means "never stamped".
type Time int64

// Sub returns the duration t-u. It may be negative; nothing clamps it.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Add returns t moved by d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Duration returns the time since the clock's base.
func (t Time) Duration() time.Duration { return time.Duration(t) }

// Clock stamps instants. All stages of one run share one Clock, so every
// difference of two stamps is a difference on one monotonic base.
type Clock struct{ base time.Time }

// NewClock returns a Clock whose base is one second ago, so that no stamp it
// gives is the zero Time.
func NewClock() Clock { return Clock{base: time.Now().Add(-time.Second)} }

// Now stamps the present.
func (c Clock) Now() Time { return Time(time.Since(c.base)) }

// At converts t, which must carry a monotonic reading, to a stamp.
func (c Clock) At(t time.Time) Time { return Time(t.Sub(c.base)) }

// Wall converts a stamp back to a time.
func (c Clock) Wall(t Time) time.Time { return c.base.Add(time.Duration(t)) }
