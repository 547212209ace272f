// Package profiles reads load profiles: what is in the mesh, how many proxies
// of which kind connect, what changes at which rate, for how long, and against
// which control plane.
//
// A profile is a YAML file. It is laid over the defaults, and single fields
// are laid over it ("mesh.services=500"). Decoding is strict: an unknown field
// is an error. Each stage owns its part of the profile, that part's defaults
// and its validation; this package composes them.
package profiles
