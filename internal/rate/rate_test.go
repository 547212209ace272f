package rate_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/internal/rate"
)

func TestRatesAreReadPerSecondMinuteAndHour(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rate.Rate{"50/s": 50, "0.5/s": 0.5, "30/m": 0.5, "1800/h": 0.5, "7": 7, "2 / s": 2, "0/s": 0} {
		if got, err := rate.Parse(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestBadRatesAreRefusedWithTheirText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "fast", "-1/s", "1/d", "NaN", "Inf/s", "1/s/s", "1e999"} {
		if _, err := rate.Parse(text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRatesGoThroughJSON(t *testing.T) {
	t.Parallel()
	var r rate.Rate
	for _, text := range []string{`"10/m"`, `3`} {
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again rate.Rate
		if err := json.Unmarshal(written, &again); err != nil || again != r {
			t.Errorf("%s became %s and then %v (%v)", text, written, again, err)
		}
	}
	if err := json.Unmarshal([]byte(`"x"`), &r); err == nil {
		t.Error("a bad rate was read")
	}
}

func TestIntervalIsTheMeanTimeBetweenEvents(t *testing.T) {
	t.Parallel()
	if got := rate.Rate(4).Interval(); got != 250*time.Millisecond {
		t.Errorf("4/s: %s", got)
	}
	if got := rate.Rate(0).Interval(); got != 0 {
		t.Errorf("0/s: %s", got)
	}
}
