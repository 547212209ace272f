package collect_test

import (
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/event"
)

func TestIntervalsHoldEachDeliveryOnce(t *testing.T) {
	r := newRig(t, 130, "c") // three shards
	cut := r.Intervals()
	var total int64
	for second := range 3 {
		state := event.Fingerprint(100 + second)
		r.mutate(state, "c")
		r.pass(time.Duration(second+1) * 10 * time.Millisecond)
		for p := range 130 {
			r.receive(p, "c", state)
		}
		v := cut.Cut()
		total += v.Deliveries
		want := time.Duration(second+1)*10*time.Millisecond + time.Millisecond
		if v.Deliveries != 130 || v.P50 == nil || (duration(*v.P50)-want).Abs() > want/50 {
			t.Errorf("second %d: %d deliveries, p50 %v; want 130 in %s", second, v.Deliveries, v.P50, want)
		}
	}
	if v := cut.Cut(); v.Deliveries != 0 || v.P50 != nil || v.P99 != nil {
		t.Errorf("a second without deliveries: %+v", v)
	}
	if res := r.finish(); res.Propagation.Deliveries != total {
		t.Errorf("%d deliveries, %d of them in intervals", res.Propagation.Deliveries, total)
	}
}

func TestTimesOfWritesAndAnswersAreDistributions(t *testing.T) {
	r := newRig(t, 2, "c")
	m := r.issue(7, "c")
	r.pass(5 * time.Millisecond)
	r.answer(m, nil)
	r.receive(0, "c", 7)
	r.receive(1, "c", 7)
	res := r.finish()
	if w := res.Mutations.WriteTime; w == nil || w.Count != 1 || !near(duration(w.P50), 5*time.Millisecond) {
		t.Errorf("write time %+v, want 5 ms", w)
	}
	if a := res.Acks.AnswerTime; a == nil || a.Count != 2 || (duration(a.P50)-time.Microsecond).Abs() > time.Microsecond {
		t.Errorf("answer time %+v, want 1 µs twice", a)
	}
}
