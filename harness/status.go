package harness

import "time"

// Phase names a part of a run.
type Phase string

// The phases of a run, in order.
const (
	PhaseStart   Phase = "start"
	PhaseConnect Phase = "connect"
	PhaseWarmup  Phase = "warm up"
	PhaseIdle    Phase = "idle"
	PhaseSteady  Phase = "steady"
	PhaseDrain   Phase = "drain"
	PhaseStop    Phase = "stop"

	// PhaseHold is a standing fleet's after PhaseConnect, while all are ready.
	PhaseHold Phase = "hold"
)

// Status is what a run is doing, for progress display.
type Status struct {
	Phase Phase
	// Detail says what the start and stop phases are busy with.
	Detail string
	// Elapsed is the time in this phase; Limit is how long it may last, zero
	// where that is not known.
	Elapsed, Limit time.Duration
	// Want is the size of the fleet.
	Want, Connected, Ready int
	// Refused counts connection attempts that failed so far.
	Refused int
	// Responses have been received, of all types.
	Responses int
	// Issued of Scheduled mutations have been written.
	Issued, Scheduled int
	// Deliveries have arrived; Pending ones are still expected.
	Deliveries, Pending int
}
