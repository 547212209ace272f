package result_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/report"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

func v1(t *testing.T) *result.Result {
	t.Helper()
	r, err := result.Load(filepath.Join("testdata", "v1", "run"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOldResultHasTheQuantilesOfToday(t *testing.T) {
	t.Parallel()
	p := v1(t).Propagation
	// Of 27 mutations v1 left the slowest out of the p99, at times.
	for name, d := range map[string]*result.Distribution{"first": p.FirstProxy, "last": p.LastProxy, "arrived": p.LastArrived, "spread": p.Spread} {
		if d.P99 != d.Max || d.P50 < d.Min || d.P50 > d.P90 || d.Mark("p99") != "max of 27" {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for i, q := range []float64{p.All.P50, p.All.P90, p.All.P99} {
		if first := []float64{p.FirstProxy.P50, p.FirstProxy.P90, p.FirstProxy.P99}[i]; first > q {
			t.Errorf("quantile %d: first proxy %v, every %v", i, first, q)
		}
	}
}

func TestOldStagesHaveBucketsForTheirWidths(t *testing.T) {
	t.Parallel()
	r := v1(t)
	s, slowest := r.ControlPlane.Stages, r.Propagation.All.Max
	if s.Watch.P50 != nil || s.Wire.P99 != nil || s.Ack.Share != nil {
		t.Errorf("watch %+v, wire %+v, ack %+v: no quantiles, no share", s.Watch, s.Wire, s.Ack)
	}
	for name, x := range map[string]*observed.Stage{"debounce": s.Debounce, "queue": s.Queue, "push": s.Push, "send": s.Send} {
		b := x.P99Bucket
		if b == nil || x.P50Bucket == nil || b.Low > *x.P99 || b.High != nil && *b.High > slowest || *x.P99 > slowest {
			t.Errorf("%s: p50 %v in %v, p99 %v in %v, slowest delivery %v", name, x.P50, x.P50Bucket, x.P99, b, slowest)
		}
	}
	var text bytes.Buffer
	d, err := report.Document(r, "")
	if err == nil {
		err = d.Text(&text, doc.TextOptions{})
	}
	if err != nil || !strings.Contains(text.String(), "(max of 27)") {
		t.Errorf("error %v, text:\n%s", err, text.String())
	}
}

func TestOldStageBelowZeroIsUnattributed(t *testing.T) {
	t.Parallel()
	r, err := result.Decode([]byte(`{"schema": "xdsbench/result/v1", "controlPlane": {"stages": {
		"write": {"source": "ours", "mean": 0.04, "p50": 0.04, "p99": 0.04, "share": 0.4},
		"watch": {"source": "estimated", "mean": -0.026, "p50": -0.3, "p99": 0, "width": 1, "share": -0.26},
		"wire": {"source": "estimated", "mean": 0.086, "p50": 0.1, "p99": 0, "share": 0.86},
		"total": {"source": "ours", "mean": 0.1, "p50": 0.1, "p99": 0.1, "share": 1},
		"mutationsPerPush": 1.5}}}`), "old.json")
	if err != nil {
		t.Fatal(err)
	}
	s := r.ControlPlane.Stages
	if s.Watch != nil || s.Wire != nil || s.Unattributed == nil || s.Unattributed.Mean < 0.0599 || s.Unattributed.Mean > 0.0601 || *s.Overlap != 0.026 || *s.Write.Share != s.Write.Mean/s.Total.Mean {
		t.Errorf("stages %+v", s)
	}
	if s.MutationsPerPush != 1.5 {
		t.Errorf("mutations per push %v", s.MutationsPerPush)
	}
}
