package event

import (
	"time"

	"github.com/xdsbench/xdsbench/event/xds"
)

// ResourceState is what a proxy can see of one resource.
type ResourceState struct {
	Type xds.Type
	// Name is that of the EDS resource, cluster, listener or workload, for example
	// "outbound|80||svc.ns.svc.cluster.local"; for RDS that of a virtual host.
	Name string
	// State is, for EDS, the fingerprint of the usable endpoints; for other types
	// Absent, Present, or a state of what the resource says.
	State Fingerprint
}

// States of resources that are no EDS.
const (
	Absent  Fingerprint = 0
	Present Fingerprint = 1
	// Plaintext is a listener that also takes what comes without TLS.
	Plaintext Fingerprint = 2
)

// Expected is the state that a resource has after a mutation, and who must be told.
type Expected struct {
	ResourceState
	// Audience are the proxies that have to know the resource, beside those that
	// subscribe to it. Nil: only those that subscribe.
	Audience *Audience
}

// Audience is a set of proxies, told by what they are. It is immutable, and may stand
// for the same set wherever the same pointer is used.
type Audience struct {
	// Namespaces are those of the proxies; nil is all.
	Namespaces []string
	// Kinds are the kinds of proxy, such as "ztunnel"; nil is those that have to know
	// the whole mesh.
	Kinds []string
}

// Mutation is one write to the API server.
type Mutation struct {
	// Seq numbers the mutations of a run from 1, in the order of their
	// scheduled times.
	Seq uint64
	// Op numbers the operation (one pod deleted, one service rolled) that the
	// mutation is a step of.
	Op uint64
	// Kind is the operation's kind as the profile names it, such as "pod-delete".
	Kind string
	// Step is what this write does, such as "terminating" or "removal".
	Step string
	// Service is the service the write belongs to, "namespace/name".
	Service string
	// Object is the object written, "namespace/name".
	Object string
	// Scheduled is fixed by the schedule; Issued is stamped just before the
	// write; Acked when the API server has answered.
	Scheduled, Issued, Acked Time
	// States are the resources that the write changes, with the state they have after
	// it. A mutation without States is no-op.
	States []Expected
	// Err is why the write failed, after it has been answered.
	Err error
}

// Noop reports whether no proxy can see the mutation.
func (m *Mutation) Noop() bool { return len(m.States) == 0 }

// Response records one discovery response at one proxy. The receiver of a
// *Response may keep no reference to it or to its slices after it returns.
type Response struct {
	Proxy int
	// Address is the index of the control plane's address that the stream goes to.
	Address int
	Variant xds.Variant
	Type    xds.Type
	// Resources and Removed count what the response carried; Duplicates counts
	// resources byte-equal to what the proxy already held.
	Resources, Removed, Duplicates int
	// Bytes is the size of the gRPC message, without the gRPC frame header; ChangedBytes
	// that of the resources in it that were new to the proxy, and of the names of those
	// that it lost, also because a SotW response lacks them. 0 for a NACK.
	Bytes, ChangedBytes int
	// Socket is when the last bytes that the connection read before the message was
	// whole had reached this machine; Received when the whole message was in our hands, before any
	// decoding; Answered when the ACK or NACK had been handed to gRPC.
	Socket, Received, Answered Time
	// Nacked says that the answer was a NACK; Injected that it was one on purpose.
	Nacked, Injected bool
	// Reason is the NACK's error text.
	Reason string
	// OutOfOrder counts resources of the response that nothing had subscribed to,
	// as when EDS arrives before the CDS that explains it.
	OutOfOrder int
	// States are the EDS resources of the response that the proxy is subscribed
	// to, and the resources of other types that are followed and that it changed, with
	// the state each one now has at the proxy. Empty for a NACK.
	States []ResourceState
}

// ProxyEventKind says what happened to a proxy.
type ProxyEventKind uint8

// What happens to proxies.
const (
	// Connected: the ADS stream is open (headers or a first message seen).
	Connected ProxyEventKind = iota
	// Ready: CDS, the EDS of every EDS cluster, LDS and every RDS it names are accepted.
	Ready
	// Disconnected: the stream ended and was not ended by us.
	Disconnected
	// Refused: a connection attempt failed, or the stream ended before its first response.
	Refused
	// Retired: the proxy left because its pod was deleted, or the fleet stopped.
	Retired
	// Subscribed: the proxy newly asks for the EDS resources in Clusters.
	Subscribed
	// Unsubscribed: the proxy no longer asks for the EDS resources in Clusters.
	Unsubscribed
)

// ProxyEvent records a change in a proxy's life.
type ProxyEvent struct {
	Proxy int
	Kind  ProxyEventKind
	At    Time
	// Since is, for Ready, the time from the first connection attempt of this
	// connection to ready.
	Since time.Duration
	// ConfigBytes is, for Ready, the size of the resources held, per type.
	ConfigBytes [xds.NumTypes]int64
	// Err is, for Disconnected and Refused, why.
	Err error
	// Clusters are, for Subscribed and Unsubscribed, EDS resource names. The
	// receiver may not keep or change the slice.
	Clusters []string
}
