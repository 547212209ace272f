// Package controlplane is a reference ADS control plane for Kubernetes
// services: client-go informers fill a registry, changes are debounced into
// pushes, and a push queue with a throttle answers the open watches of every
// proxy over go-control-plane's SotW and Delta servers.
//
// It is shaped after istiod so that one harness can measure both: the same
// environment variables (PILOT_DEBOUNCE_AFTER and its kin), resource names
// ("outbound|80||svc.ns.svc.cluster.local"), push order (CDS, EDS, LDS, RDS),
// metric names (pilot_*) and debug pages (/debug/syncz). It knows Services,
// EndpointSlices, Pods and Nodes, and of Istio's objects Sidecar, DestinationRule and
// VirtualService, once the API server serves them; see below for which fields.
//
// What a proxy sees depends on its namespace as soon as one service is exported to
// some namespaces only (networking.istio.io/exportTo) or there is one Sidecar. The
// proxies of a namespace share a view, so scoping costs per namespace, not per proxy.
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
// An endpoint needs no Pod object. A service label changes nothing, and of the
// annotations only networking.istio.io/exportTo does. Of a Sidecar, egress (hosts,
// port, bind) and outboundTrafficPolicy.mode count; one with a workloadSelector is
// ignored, and one in istio-system is for the namespaces without. Of a
// DestinationRule, host, connectTimeout and subsets count, of a VirtualService for
// the mesh, hosts and http[]'s name, timeout and first destination's subset: matches
// are ignored. Both are in force in all namespaces, and of several for one host the
// first by name is, where istiod merges. Objects have no exportTo of their own. Scope
// does not limit EDS, which proxies ask for by name, nor who gets a full push: it makes
// configs smaller, but reaches as many proxies. ServiceEntry, AuthorizationPolicy,
// PeerAuthentication, EnvoyFilter, Telemetry, Gateway and the Gateway API are not known,
// and a change of a headless HTTP service's pods pushes nothing. A proxy
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
