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
// # Kinds
//
// An operation makes these writes; those of one line are of the same time, unless it says
// otherwise. In brackets is what proxies can see of them, if it is not the endpoints.
//
//	pod-delete        terminating; removal after the delay
//	pod-crash         crash: removal at once
//	pod-add           add
//	readiness-flap    unready; ready after the delay
//	scale-up          add, several pods in one write
//	scale-down        terminating, several pods of one slice; removal after the delay
//	scale-to          as one of these, to a size; back after hold, if given
//	rolling-update    add, ready, terminating, removal, for one pod after the other
//	node-drain        as pod-delete, for all pods of a node, in all services
//	node-loss         unready, for all pods of a node, in all services; ready after hold
//	zone-loss         the same for a zone
//	first-endpoint    add, to a service without endpoints; terminating after hold, if given
//	last-endpoint     terminating, of the only endpoint; removal after the delay
//	noop-update       update: an annotation of a slice [nothing]
//	slice-repack      copy, drop: pods are listed in another slice, then no longer here [nothing]
//	endpoint-port     update: a port's number in one slice
//	target-port       service [nothing]; endpoints: each slice follows
//	port-add          service [cluster, virtual host]; endpoints: each slice follows
//	port-remove       service [cluster, virtual host]; endpoints: each slice follows [nothing]
//	service-add       service [cluster, virtual host]; add
//	service-remove    service [cluster, virtual host]
//	namespace-add     namespace [nothing]; as service-add after the delay
//	namespace-remove  as service-remove; namespace after the delay [nothing]
//	headless-pod      add [nothing]; ready [listeners, of TCP ports]; after the delay as pod-delete
//	X-add             add, of a config object; undo after hold, if given
//	X-update          update, of one of four objects in turn
//	X-remove          removal, of an object that is there from the start; undo as above
//
// X is one of the kinds of config object (mesh.ConfigKinds); what proxies see of each is in
// mesh.ConfigObject.
//
// The writes of a rollout come one by one at the entry's rate; a rollout of n
// pods lasts 4n/rate, and the entry's next begins after it. With maxSurge, maxUnavailable
// or readyDelay it goes on as a Deployment's: in rounds of maxSurge+maxUnavailable pods,
// one each readyDelay.
//
// # Times
//
// An entry's rate counts writes. An operation that needs k writes
// therefore starts every k/rate: evenly with a phase drawn from the seed
// ("constant"), or after exponential gaps of that mean ("poisson"). "ramp", "steps" and
// "on-off" are constant at a rate that changes. "burst" starts n operations at once, every
// so often, from the start of its window. A count in place of a rate spreads that many
// operations over the window. The window is the steady time, or what start and for cut
// out of it.
//
// An operation starts within the window; its delayed writes may come after
// the end, by the delay or the hold at most. A rollout starts only if its last write (in
// rounds: if all of its pods are ready) falls within the steady time, so that none is left
// unfinished.
//
// # Services
//
// An operation works on pods that no other operation is working on, and, but for
// last-endpoint and the removal of services, leaves its
// service at least one usable endpoint. If the service drawn does not allow for
// that, the next one that does is taken. An operation that no service allows for is
// skipped, and Schedule.Warnings says so. Headless services are changed by headless-pod
// alone: control planes serve no EDS for them.
//
// Some kinds need what the mesh has not by itself: an empty service, a service with a port
// to spare, a namespace without proxies, a config object. The plan then takes a service
// that it has not touched before, half of them at most, or makes one, and Schedule.Prepare
// puts that into the mesh before it is written.
//
// # The run
//
// Run is open-loop: each write has its scheduled time, and one that cannot be
// made in time is made late, never dropped. Writes of one service are made one
// after the other, those of different services and of config objects in parallel. The pods that slices
// refer to are companion writes: created, with their status, about 100 ms before
// the write that adds the endpoint, which waits for them, and deleted after the
// removal, as are the slices of a removed service. They are counted, but are no mutations, unless Schedule.AnnouncePods names
// proxies that are told of pods: istiod's ztunnels hear of a pod, as a workload, by the
// pod alone. Then they are mutations, beyond the writes that the rates count.
//
// A failed write leaves the model of the mesh ahead of the API server. The object
// is marked, and is written again, as it then should be, before the next write to
// the same service, or at the end of the run: these repairs are counted. So the
// states that later mutations announce hold, and the model is the true state of
// the mesh unless Stats.Behind says otherwise.
package churn
