// Package churn changes the mesh at a set rate: it plans what changes when, and
// carries out the plan against an API server.
//
// # The plan
//
// Plan is pure. It simulates all entries of the profile in the order of time, on a
// copy of the mesh, and fixes everything in advance: the offset of each write, the
// service, the pods, the slice. The same profile and seed give the same sequence,
// whatever the API server does.
//
// An entry's rate counts EndpointSlice writes. An operation that needs k writes
// therefore starts every k/rate: evenly with a phase drawn from the seed
// ("constant"), or after exponential gaps of that mean ("poisson"). Its writes:
//
//	pod-delete      terminating; removal after the delay
//	pod-add         add
//	readiness-flap  unready; ready after the delay
//	scale-up        add, several pods in one write
//	scale-down      terminating, several pods of one slice; removal after the delay
//	rolling-update  add, ready, terminating, removal, for one pod after the other
//
// The writes of a rollout come one by one at the entry's rate; a rollout of n
// pods lasts 4n/rate, and the entry's next begins after it.
//
// An operation starts within the steady time; its delayed write may come after
// the end, by the delay at most. A rollout starts only if its last write falls
// within the steady time, so that none is left unfinished.
//
// An operation works on pods that no other operation is working on, and leaves its
// service at least one usable endpoint. If the service drawn does not allow for
// that, the next one that does is taken. An operation that no service allows for is
// skipped, and Schedule.Warnings says so. Headless services are not changed:
// control planes serve no EDS for them.
//
// # The run
//
// Run is open-loop: each write has its scheduled time, and one that cannot be
// made in time is made late, never dropped. Writes of one service are made one
// after the other, those of different services in parallel. The pods that slices
// refer to are companion writes: created, with their status, about 100 ms before
// the write that adds the endpoint, which waits for them, and deleted after the
// removal. They are counted, but are no mutations, unless Schedule.AnnouncePods names
// proxies that are told of pods: istiod's ztunnels hear of a pod, as a workload, by the
// pod alone. Then they are mutations, beyond the writes that the rates count.
//
// A failed write leaves the model of the mesh ahead of the API server. The slice
// is marked, and is written again, as it then should be, before the next write to
// the same service, or at the end of the run: these repairs are counted. So the
// states that later mutations announce hold, and the model is the true state of
// the mesh unless Stats.Behind says otherwise.
package churn
