package fakeproxy_test

import (
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

func TestOnlyWhatIsNewToTheProxyCountsAsChanged(t *testing.T) {
	for _, v := range []xds.Variant{xds.SotW, xds.Delta} {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			changed := func(responses int) (bytes, all int) {
				eventually(t, "recorded", func() bool { return len(f.sink.all()) >= responses })
				r := f.sink.all()[responses-1]
				return r.ChangedBytes, r.Bytes
			}
			s.Expect(adstest.CDS)
			a, b := makeCluster("a", "-", time.Second), makeCluster("b", "-", time.Second)
			s.Send(response(v, adstest.CDS, "1", a, b))
			if n, all := changed(1); n < 20 || n > all {
				t.Errorf("%d of %d bytes changed, want the two clusters", n, all)
			}
			s.Expect(adstest.CDS)
			s.Send(response(v, adstest.CDS, "2", a, b))
			if n, _ := changed(2); n != 0 {
				t.Errorf("%d bytes changed although nothing did", n)
			}
			s.Expect(adstest.CDS)
			gone := response(v, adstest.CDS, "3", a)
			if v == xds.Delta {
				removal := adstest.Delta(adstest.CDS, "3")
				removal.RemovedResources = []string{"b"}
				gone = removal
			}
			s.Send(gone)
			if n, _ := changed(3); n != len("b") {
				t.Errorf("%d bytes changed, want the name of the cluster that went", n)
			}
		})
	}
}
