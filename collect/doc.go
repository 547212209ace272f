// Package collect turns what happens in a run into its result.
//
// A Collector hears of every mutation from the churn (Begin, End) and of every
// response and change of life from the fake proxies (Response, Proxy). It
// correlates the two by content: each resource has a history of the states
// the mesh gave it, and the state that a proxy receives names the newest
// mutation whose state it equals. That mutation, and every older one of the
// same resource, has then arrived at that proxy. Endpoints are told anew to every
// stream; of the other types that are followed, a proxy reports what has changed, and
// holds what it held over a reconnect.
//
// Each pair of a mutation and a proxy that was ready when the mutation was issued, and
// belongs to the audience of a resource or subscribes to it, ends in exactly one way: delivered, undelivered,
// interrupted (the proxy lost its stream) or retired (the proxy left, or no
// longer asks for anything that the mutation changed). Finish checks that the
// four add up to the pairs expected, and says so in the result if they do not.
//
// Where a state recurs, as when an endpoint becomes unready and ready again,
// the newest match counts. A state that recurs before the control plane has
// looked may cause no response at all; the pair is then delivered, since the
// proxy shows the state, but without a latency: it is counted as unobserved. That holds
// for changes undone while the control plane could still have waited for more: within twice
// the time of the slowest delivery. One that stood longer, and was never told, is undelivered.
//
// A write that fails at the client may have reached the server. A failed
// mutation's pairs are withdrawn from the pairs expected, unless a proxy has
// already received its state: then the write did happen, and the mutation
// counts as applied.
//
// Times are nanoseconds inside and seconds in the result. Latencies count from
// the scheduled time, and beside it from the acknowledgement. A receipt that
// precedes the acknowledgement has a negative latency, which no HdrHistogram
// can hold: it is counted in receivedBeforeAck and left out of fromAck.
package collect
