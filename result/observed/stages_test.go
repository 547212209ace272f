package observed_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/result/observed"
)

func TestSharesAreNeverNegativeAndNeverMoreThanTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.Custom(func(t *rapid.T) *observed.Stage {
			return &observed.Stage{Mean: rapid.Float64Range(0, 1).Draw(t, "mean")}
		})
		s := &observed.Stages{
			Write: mean.Draw(t, "write"), Debounce: mean.Draw(t, "debounce"), Queue: mean.Draw(t, "queue"),
			Ack: mean.Draw(t, "ack"), Total: &observed.Stage{Mean: rapid.Float64Range(0.01, 3).Draw(t, "total")},
		}
		first := rapid.Float64Range(0, s.Total.Mean).Draw(t, "first proxy")
		s.Watch = &observed.Stage{Mean: first - s.Write.Mean - s.Debounce.Mean}
		s.Wire = &observed.Stage{Mean: s.Total.Mean - first - s.Queue.Mean}
		contradicted := s.Watch.Mean < -1e-9 || s.Wire.Mean < -1e-9
		s.Attribute()
		if contradicted != (s.Unattributed != nil) || contradicted != (s.Overlap != nil) || contradicted != (s.Watch == nil && s.Wire == nil) {
			t.Fatalf("contradicted %t, but watch %v, wire %v, unattributed %v", contradicted, s.Watch, s.Wire, s.Unattributed)
		}
		sum, all := 0.0, true
		for _, x := range []*observed.Stage{s.Write, s.Watch, s.Debounce, s.Queue, s.Wire, s.Unattributed} {
			switch {
			case x == nil:
			case x.Share == nil:
				all = false
			case *x.Share < 0:
				t.Fatalf("a share of %v", *x.Share)
			default:
				sum += *x.Share
			}
		}
		if sum > 1+1e-6 || all && math.Abs(sum-1) > 1e-6 {
			t.Fatalf("shares add up to %v", sum)
		}
		if s.Ack.Share != nil || *s.Total.Share != 1 {
			t.Fatalf("share of the ACK %v, of the total %v", s.Ack.Share, *s.Total.Share)
		}
		if u := s.Unattributed; u != nil && u.Mean < 0 {
			t.Fatalf("unattributed %v", u.Mean)
		}
		again := *s
		again.Attribute()
		if again != *s {
			t.Fatal("the second time it changes something")
		}
	})
}

func TestBucketEndsAtTheLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ b, want observed.Bucket }{
		{observed.Bucket{Low: 0.1, High: new(0.2)}, observed.Bucket{Low: 0.1, High: new(0.2)}},
		{observed.Bucket{Low: 0.1, High: new(1.0)}, observed.Bucket{Low: 0.1, High: new(0.35)}},
		{observed.Bucket{Low: 0.1}, observed.Bucket{Low: 0.1, High: new(0.35)}},
		{observed.Bucket{Low: 1, High: new(5.0)}, observed.Bucket{Low: 0.35}},
	} {
		got := test.b.Below(0.35)
		if got.Low != test.want.Low || (got.High == nil) != (test.want.High == nil) || got.High != nil && *got.High != *test.want.High {
			t.Errorf("%+v below 0.35 is %+v, want %+v", test.b, got, test.want)
		}
	}
}
