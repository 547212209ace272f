package observe_test

import (
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/observe"
)

func TestDebounceIsKnownOfControlPlanesThatHaveIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		defaults bool
		env      map[string]string
		want     observe.Debounce
	}{
		"istiod's defaults":        {true, nil, observe.Debounce{After: 100 * time.Millisecond, Max: 10 * time.Second}},
		"a profile's values":       {true, map[string]string{"PILOT_DEBOUNCE_AFTER": "1s", "PILOT_DEBOUNCE_MAX": "3s"}, observe.Debounce{After: time.Second, Max: 3 * time.Second}},
		"no debounce of endpoints": {true, map[string]string{"PILOT_ENABLE_EDS_DEBOUNCE": "false"}, observe.Debounce{Max: 10 * time.Second}},
		"another control plane":    {false, nil, observe.Debounce{}},
		"one with istiod's names":  {false, map[string]string{"PILOT_DEBOUNCE_AFTER": "20ms"}, observe.Debounce{After: 20 * time.Millisecond}},
	} {
		got, err := observe.DebounceOf(test.env, test.defaults)
		if err != nil || got != test.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, test.want)
		}
	}
	if _, err := observe.DebounceOf(map[string]string{"PILOT_DEBOUNCE_AFTER": "soon"}, true); err == nil {
		t.Error("no error for a quiet time of \"soon\"")
	}
}
