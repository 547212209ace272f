// Package event holds the records that the stages of a run hand to each other,
// the clock they are stamped with, and the fingerprint by which a received
// state is recognised as the effect of a mutation.
//
// It imports no other package of this module: every stage may import it.
package event
