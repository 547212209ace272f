//go:build realstack

package main

import (
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/churn"
)

// TestRealIstiodDeliversEveryKindOfChange makes each kind of change that there is. Those
// of config objects have a run for each thing that can happen to an object, since some
// kinds of object are one at a time.
func TestRealIstiodDeliversEveryKindOfChange(t *testing.T) {
	runs := map[string][]string{"services and endpoints": kindsThat(churn.NeedsNothing, churn.NeedsListeners)}
	for _, kind := range kindsThat(churn.NeedsConfig) {
		what := "config objects: " + kind[strings.LastIndex(kind, "-")+1:]
		runs[what] = append(runs[what], kind)
	}
	for name, kinds := range runs {
		t.Run(name, func(t *testing.T) {
			checkEveryKind(t, realRun(t, "-f", everyKind(t, "1s", kinds)), kinds)
		})
	}
}
