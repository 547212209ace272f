// Command gcpserver is a small ADS server as users write them: go-control-plane
// in front of client-go informers on Services and EndpointSlices. It shares no
// code with the control plane that xdsbench embeds, and names its clusters in
// its own way, "namespace/service/port"; tests run it as an exec and as an
// external target.
//
// Each port of each Service that has a cluster IP, or has yet to get one, is an
// EDS cluster whose endpoints are those that are ready and not terminating. One
// listener and one route configuration, both named "outbound", reach all
// clusters.
//
// With --cache=linear there is one LinearCache per type: an endpoint change
// sends the changed cluster's endpoints alone. With --cache=snapshot one
// SnapshotCache holds the whole mesh: SotW proxies get the endpoints of all
// clusters at each change.
package main
