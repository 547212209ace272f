package harness_test

import (
	"testing"

	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/profiles"
)

func TestEveryShippedProfileIsValid(t *testing.T) {
	t.Parallel()
	for _, name := range profiles.Names() {
		if _, err := profiles.Load(name, nil, harness.Validate); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
