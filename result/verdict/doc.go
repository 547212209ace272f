// Package verdict says what the numbers of a result mean: whether the load
// generator was the bottleneck (Saturation).
package verdict
