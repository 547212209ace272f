package hotspot_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/xdsbench/xdsbench/hotspot"
)

func TestProfilesOfTheEmbeddedControlPlaneAreExplained(t *testing.T) {
	for _, kind := range []string{"cpu", "heap"} {
		data, err := os.ReadFile(filepath.Join("testdata", "embedded-"+kind+".pb.gz"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := hotspot.Summarise(data, kind)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, share := range s.Parts {
			sum += share
		}
		if math.Abs(sum-1) > 1e-9 || s.Parts["other"] > 0.2 || len(s.Top) == 0 {
			t.Errorf("%s: parts %v add up to %v; want 1, and at most 20 %% other", kind, s.Parts, sum)
		}
	}
}
