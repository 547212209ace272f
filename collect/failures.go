package collect

import (
	"regexp"
	"strings"
)

const (
	// maxFailures bounds the distinct reasons a shard keeps; others count as
	// otherFailures.
	maxFailures    = 16
	otherFailures  = "other reasons"
	maxFailureText = 200
)

// failures counts why connections and streams ended, by reason.
type failures map[string]int64

// addresses are what makes two texts of one reason differ: ports of loopback
// connections.
var addresses = regexp.MustCompile(`(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]):\d+`)

// add counts err; nil counts for nothing.
func (f failures) add(err error) {
	if err == nil {
		return
	}
	reason := addresses.ReplaceAllString(err.Error(), "$1")
	if len(reason) > maxFailureText {
		reason = strings.ToValidUTF8(reason[:maxFailureText], "") + "…"
	}
	if _, known := f[reason]; !known && len(f) >= maxFailures {
		reason = otherFailures
	}
	f[reason]++
}

// merge adds the counts of another.
func (f failures) merge(o failures) {
	for reason, n := range o {
		f[reason] += n
	}
}
