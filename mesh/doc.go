// Package mesh says what is in the mesh under load: namespaces, nodes,
// services, pods and EndpointSlices, all derived from a seed.
//
// It is pure: it talks to no API server and reads no clock. The same Config
// gives the same objects byte for byte. A Service is also the mutable model of
// its own endpoints: churn changes it and learns, at the cost of the change
// alone, which EndpointSlice to write and which states a proxy must then reach.
//
// There are two sorts of services. Those of Mesh.Services are the ones that churn
// changes; they have no selector, so that the EndpointSlice controller of a real
// Kubernetes leaves their slices alone. Those of Mesh.Fleet, one per namespace, have
// the fake proxies as their pods; they have a selector, since a control plane finds a
// proxy's inbound services by its pod's labels.
//
// Slices hold at most 100 endpoints, which is the default of the Kubernetes
// EndpointSlice controller. As in Kubernetes an endpoint never moves between
// slices. Unlike Kubernetes an emptied slice is kept, and filled again by the
// next pods.
//
// Oddities are slices beside those of the model. They never change, so that what churn
// does to a service leaves them as they are. The clusters of subsets follow from the pods'
// labels.
package mesh
