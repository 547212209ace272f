// Package resource is what the proxies of a fleet share: every resource that one of
// them holds, and every state that one of them is in, once.
//
// A response is never decoded as a whole: Parse makes one pass over its top-level
// fields and hashes each resource, and only the first sight of a resource decodes
// and validates it. A proxy holds a State per type, immutable and shared by all
// proxies in that state; Apply moves it from one state to the next by a Step that is
// worked out once. Nothing is counted or swept: the tables hold weak pointers, so
// that the garbage collector drops a resource with the last proxy that holds it.
package resource
