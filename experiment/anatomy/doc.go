// Package anatomy says what each kind of change costs a control plane: one run over a
// quiet mesh, in which every kind has a window of its own and happens a few times, one
// change after the other.
//
// So each response can be attributed to the change that caused it, and each window's
// processor time and allocations, less what the idle phase used in the same time, to the
// kind. Two anatomies can be compared: counts exactly, times beyond their noise.
package anatomy
