package fakeproxy_test

import (
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// TestResourcesOfATypeThatIsNoLongerAskedForAreAnsweredAtTheOldVersion takes the last cluster
// away, and sends its endpoints all the same.
func TestResourcesOfATypeThatIsNoLongerAskedForAreAnsweredAtTheOldVersion(t *testing.T) {
	for how, version := range map[string]string{fakeproxy.UnwatchedOld: "1", fakeproxy.UnwatchedAccept: "2"} {
		t.Run(how, func(t *testing.T) {
			_, f, s := one(t, xds.SotW, func(c *fakeproxy.Config) { c.Spec.Unwatched = how })
			s.Send(adstest.SotW(adstest.CDS, "1", makeCluster("a", "", time.Second)))
			s.Expect(adstest.EDS)
			s.Send(adstest.SotW(adstest.EDS, "1", makeEndpoints("a", "10.0.0.1:80")))
			s.Expect(adstest.EDS)
			s.Send(adstest.SotW(adstest.CDS, "2"))
			s.Expect(adstest.EDS) // the subscription to nothing
			s.Send(adstest.SotW(adstest.EDS, "2", makeEndpoints("a", "10.0.0.2:80")))
			if r := s.Expect(adstest.EDS); r.Version != version || r.Nonce != "n-2" || r.Error != "" {
				t.Errorf("answer %+v, want version %s without an error", r, version)
			}
			if n := len(endpoints(f, 0)); n != 0 {
				t.Errorf("holds the endpoints of %d clusters", n)
			}
		})
	}
}
