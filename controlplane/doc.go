// Package controlplane is a reference ADS control plane for Kubernetes
// services: client-go informers fill a registry, changes are debounced into
// pushes, and a push queue with a throttle answers the open watches of every
// proxy over go-control-plane's SotW and Delta servers.
//
// It is shaped after istiod so that one harness can measure both: the same
// environment variables (PILOT_DEBOUNCE_AFTER and its kin), resource names
// ("outbound|80||svc.ns.svc.cluster.local"), push order (CDS, EDS, LDS, RDS),
// metric names (pilot_*) and debug pages (/debug/syncz). It knows Services,
// EndpointSlices, Pods and Nodes, and none of Istio's own resources.
//
// # How a change travels, and where to read
//
// Each package imports only those before it; Run wires them.
//
//	internal/kube       what proxies can see of a Kubernetes object
//	internal/registry   informer events become updates; one that no proxy can see
//	                    (an annotation, the removal of an endpoint that was
//	                    terminating already) ends there
//	internal/xds        types, resources encoded once for all proxies, and
//	                    subscriptions
//	internal/generate   clusters, load assignments, listeners and routes
//	internal/snapshot   an update becomes the next state of all resources, and the
//	                    request that brings proxies to it
//	internal/wire       the codec that sends shared bytes
//	faults              known faults, see there
//	internal/discovery  updates are merged until they go quiet (debounce); a push
//	                    builds the next snapshot and queues every connection; the
//	                    dispatcher takes connections from the queue, at most
//	                    PILOT_PUSH_THROTTLE at a time, and hands each its
//	                    responses, which leave one by one, in order
//
// Beside them, internal/metrics holds the pilot_* metrics, and internal/env
// reads environment variables.
//
// # Where it differs from istiod
//
// An endpoint needs no Pod object. A service label changes nothing, and an
// annotation only if it exports the service to no namespace
// (networking.istio.io/exportTo: "~"). A proxy
// has the listener of its own endpoint of a headless service too. Delta resources carry
// versions, and on a reconnect those that the client reports are not sent again,
// where istiod sends all of them. New streams are not limited unless
// PILOT_MAX_REQUESTS_PER_SECOND says so.
//
// As in istiod, requests for clusters and listeners mean all of them whatever
// names they give, endpoints and routes have no wildcard, a full push sends all
// listeners and subscribed routes in Delta too, and pushes do not wait for the
// acknowledgement of the ones before.
package controlplane
