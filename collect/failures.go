package collect

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxFailures bounds the distinct reasons that are kept; others count as
	// otherFailures.
	maxFailures    = 16
	otherFailures  = "other reasons"
	maxFailureText = 200
)

// failures counts why connections and streams ended, or responses were rejected,
// by reason.
type failures map[string]int64

// addresses are what makes two texts of one reason differ: ports of loopback
// connections.
var addresses = regexp.MustCompile(`(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]):\d+`)

// add counts err; nil counts for nothing.
func (f failures) add(err error) {
	if err != nil {
		f.count(err.Error())
	}
}

// count counts a reason given as text.
func (f failures) count(reason string) {
	reason = addresses.ReplaceAllString(reason, "$1")
	if len(reason) > maxFailureText {
		reason = strings.ToValidUTF8(reason[:maxFailureText], "") + "…"
	}
	f.put(reason, 1)
}

func (f failures) put(reason string, n int64) {
	if _, known := f[reason]; !known && len(f) >= maxFailures {
		reason = otherFailures
	}
	f[reason] += n
}

// merge adds the counts of another.
func (f failures) merge(o failures) {
	for _, reason := range slices.Sorted(maps.Keys(o)) {
		f.put(reason, o[reason])
	}
}

// orNil is f, or nil if nothing was counted.
func (f failures) orNil() map[string]int64 {
	if len(f) == 0 {
		return nil
	}
	return f
}
