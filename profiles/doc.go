// Package profiles reads load profiles: what is in the mesh, how many proxies
// of which kind connect, what changes at which rate, for how long, and against
// which control plane.
//
// A profile is a YAML file. It is laid over the defaults, and single fields are laid
// over it ("mesh.services=500"). An unknown field is an error, and so is a value of
// the wrong type; all problems are reported at once, with their places. Each stage
// owns its part of the profile, that part's defaults and its validation; this package
// composes them. Each field declares whether it is load or a setting.
package profiles
