// Command benchfleet measures what a fleet of fake proxies costs by its size,
// beside the same number of bare grpc-go streams, and writes the tables into
// docs/performance.md. `make bench-fleet` runs it. It is for Linux.
//
// Every point is a process of its own, since the peak of resident memory is one
// per process. A bare point is a client that holds idle ADS streams, one to a
// connection, with grpc-go's default options, to a server in this process. The
// others are `xdsbench run` on the embedded control plane; their figures are
// those of result.json and timeline.csv.
package main
