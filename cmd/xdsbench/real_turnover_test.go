//go:build realstack

package main

import "testing"

func TestRealIstiodRolloutReplacesTheProxiesOfItsPods(t *testing.T) {
	r := realRun(t, "-f", rolloutProfile(t))
	checkRollout(t, r)
	checkIstiodAgrees(t, r)
}
