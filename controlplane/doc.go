// Package controlplane is a reference ADS control plane for Kubernetes
// services: client-go informers feed a model, changes are debounced into
// pushes, and a push queue with a throttle answers the open watches of every
// proxy over go-control-plane's SotW and Delta servers.
//
// It is shaped after istiod so that one harness can measure both: the same
// environment variables (PILOT_DEBOUNCE_AFTER and its kin), resource names
// ("outbound|80||svc.ns.svc.cluster.local"), push order (CDS, EDS, LDS, RDS),
// metric names (pilot_*) and debug pages (/debug/syncz). It knows Services,
// EndpointSlices, Pods and Nodes, and none of Istio's own resources.
//
// # How a change travels
//
// A registry turns informer events into updates; an update that no proxy can
// see (an annotation, the removal of an endpoint that was terminating already)
// ends there. The debouncer merges updates until they go quiet. A push then
// builds the next snapshot, in which every resource is encoded once for all
// proxies, and enqueues every connection. The dispatcher takes connections
// from the queue, at most PILOT_PUSH_THROTTLE at a time, and hands each its
// responses; they leave one by one, in order.
//
// # Where it differs from istiod
//
// An endpoint needs no Pod object. A service label changes nothing, and an
// annotation only if it exports the service to no namespace
// (networking.istio.io/exportTo: "~"). Headless services have no listener per endpoint, so their pods push
// nothing. Delta resources carry versions, and on a reconnect those that the
// client reports are not sent again, where istiod sends all of them. New
// streams are not limited unless PILOT_MAX_REQUESTS_PER_SECOND says so.
//
// As in istiod, requests for clusters and listeners mean all of them whatever
// names they give, endpoints and routes have no wildcard, a full push sends
// all listeners and subscribed routes in Delta too, and pushes do not wait for
// the acknowledgement of the ones before.
//
// # Known faults
//
// To calibrate what measures it, the control plane injects faults, set by
// variables with the prefix XDSBENCH_FAULT_, and keeps a record of what it did:
// FaultRecord, as JSON at /debug/faults and, at the end, in a file. Without
// these variables nothing of it runs. All but ORDER concern pushes, not the
// answers to requests.
//
//	XDSBENCH_FAULT_DELAY      holds back each push to each proxy: a sum of terms
//	                          10ms, uniform(1ms,5ms), exponential(10ms), drawn
//	                          anew each time, and spread(100ms), fixed per proxy
//	XDSBENCH_FAULT_UNSERVED   share of proxies that get no push
//	XDSBENCH_FAULT_STALE      share of pairs of proxy and cluster that get, for
//	                          ever, the endpoints that the proxy first got
//	XDSBENCH_FAULT_LOST       N: every Nth endpoint update of a cluster reaches
//	                          nobody, until the cluster's next one
//	XDSBENCH_FAULT_DUPLICATE  share of responses that are sent twice
//	XDSBENCH_FAULT_CPU        CPU time that each push to each proxy costs more
//	XDSBENCH_FAULT_ORDER      share of proxies that, on connecting, get the
//	                          endpoints of three clusters before the clusters
//	XDSBENCH_FAULT_SEED       decides who is chosen and what is drawn (1)
//	XDSBENCH_FAULT_FILE       where to write the record at the end
//
// Delays are kept to a few tens of microseconds on an idle machine, and the
// record holds what they were in fact. A delayed push is held back when it is
// ready to be sent: it takes no slot of PILOT_PUSH_THROTTLE and does not hold
// up the next one, but pushes to one proxy stay in order.
package controlplane
