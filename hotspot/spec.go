package hotspot

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxTrace bounds an execution trace, which grows by megabytes a second.
const maxTrace = 30 * time.Second

// Spec is the profile's section "pprof": what to take of the control plane. The
// zero value takes nothing.
type Spec struct {
	// CPU is how long its processor time is sampled in the middle of steady load,
	// in whole seconds; 0 is not at all.
	CPU metav1.Duration `json:"cpu" role:"load"`
	// Heap takes the memory in use at the end of steady load, after a forced
	// garbage collection, and what was allocated during it.
	Heap bool `json:"heap,omitempty" role:"load"`
	// Mutex, Block and Goroutine are taken at the end of steady load. The first
	// two are empty unless the control plane has switched them on.
	Mutex     bool `json:"mutex,omitempty" role:"load"`
	Block     bool `json:"block,omitempty" role:"load"`
	Goroutine bool `json:"goroutine,omitempty" role:"load"`
	// Trace is the length of an execution trace, in whole seconds, taken after CPU.
	Trace metav1.Duration `json:"trace" role:"load"`
}

// Any reports whether anything is to be taken.
func (s Spec) Any() bool { return s != Spec{} }

// Window is how long of the steady load is observed, in one piece.
func (s Spec) Window() time.Duration { return s.CPU.Duration + s.Trace.Duration }

// Validate returns all problems of the section, one per line, each beginning
// with the path of its field; nil if there is none.
func (s Spec) Validate() error {
	var errs []error
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"cpu", s.CPU.Duration}, {"trace", s.Trace.Duration}} {
		if f.d < 0 || f.d%time.Second != 0 {
			errs = append(errs, fmt.Errorf("pprof.%s: %s: must be whole seconds, such as 10s, or 0", f.name, f.d))
		}
	}
	if s.Trace.Duration > maxTrace {
		errs = append(errs, fmt.Errorf("pprof.trace: %s: must be at most %s: a trace grows by megabytes a second", s.Trace.Duration, maxTrace))
	}
	return errors.Join(errs...)
}
