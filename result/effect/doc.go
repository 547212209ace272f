// Package effect says, in a result, what mutations caused: which responses, how much of
// them was news, and what that cost the control plane.
package effect
