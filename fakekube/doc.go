// Package fakekube is a Kubernetes API server in memory, made for control
// planes under test: real clients (client-go informers, kubectl, istiod) list,
// watch and write it over HTTP, and a process can write it without HTTP
// through a k8s.io/client-go/kubernetes/fake clientset over the same store.
//
// # What it keeps of Kubernetes
//
// One global resourceVersion; optimistic concurrency; a bounded history of
// events per resource, so that a watch starts from any version still in it and
// is answered 410 Gone from any older one; bookmarks and WatchList; label and
// field selectors; status subresources; finalizers; graceful deletion of pods
// that have a node; the defaults of Services, EndpointSlices, Pods, Secrets and
// Namespaces; strategic, merge, JSON and server-side-apply patches; JSON, YAML
// and protobuf; Tables and PartialObjectMetadata; custom resources.
//
// # What it leaves out
//
// There are no controllers, except that a namespace's contents go with it, and
// a CustomResourceDefinition is established at once. So there is no garbage
// collection by owner (propagationPolicy is accepted and ignored), and nothing
// ends a pod's graceful deletion but a delete with gracePeriodSeconds=0, as on
// a real API server whose kubelet is absent. There is no authentication. Specs
// are not validated, custom resources are neither pruned nor defaulted by
// their schema, lists are answered in one page, and managedFields are kept
// only for objects that server-side apply has touched.
//
// # Watchers
//
// A watcher is a cursor on its resource's history, which all watchers share
// with the objects' encodings. A writer therefore never waits for a watcher
// and a stalled watcher holds no memory: when the history has moved on past
// its cursor the watch ends with a 410 Status, upon which clients list again.
package fakekube
