// Package harness carries out one run, in phases:
//
//	start    the mesh is written to the API server, the target is started
//	connect  the fleet connects, until every proxy is ready
//	warm up  the mesh rests
//	idle     nothing changes: what the control plane uses all the same
//	steady   churn issues mutations on schedule
//	drain    until every expected delivery has come, or the limit
//	stop     everything the run started is stopped, everything it created removed
//
// It is the only package that knows all the stages: it wires churn, fleet and
// collector together and owns the goroutines that they run on. An interrupted
// run goes to "stop" at once and still gives a result, marked partial, within 10 s
// whatever does not answer: see bounds.go. The result says who fell silent.
package harness
