package event

import (
	"bytes"
	"encoding/binary"
	"iter"
	"regexp"
	"strconv"
	"time"

	"github.com/zeebo/xxh3"
)

// A config object is told apart by a mark: text that it carries and that the control
// plane copies into the resources that it makes of the object, such as the name of a
// route. It says which object, and which generation of it.

// Mark returns the text of a mark. The id is made of a-z, 0-9 and "-". A mark can be part
// of a host name, a path or the value of a header.
func Mark(id string, generation int) string {
	return "xbmark." + id + "." + strconv.Itoa(generation) + ".x"
}

// MarkName is the name under which the mark of an id is reported as a ResourceState.
func MarkName(id string) string { return "mark/" + id }

// MarkState is the state of a resource, or a mark, of a generation: none of the
// named ones.
func MarkState(generation int) Fingerprint {
	h := xxh3.Hash(binary.BigEndian.AppendUint64([]byte("generation"), uint64(generation))) //nolint:gosec // a number, not a size
	return Fingerprint(max(h, 3))
}

// markTimeout is longer than what anybody sets, so that it tells a mark.
const markTimeout = 100 * time.Second

// MarkTimeout is the connect timeout of a cluster of a generation, for objects that no
// text of is copied: whole milliseconds, as Istio wants them.
func MarkTimeout(generation int) time.Duration {
	return markTimeout + time.Duration(generation)*time.Millisecond
}

// OfMarkTimeout returns the generation of a connect timeout; false if it is no mark.
func OfMarkTimeout(d time.Duration) (generation int, ok bool) {
	return int((d - markTimeout) / time.Millisecond), d >= markTimeout
}

var markPattern = regexp.MustCompile(`xbmark\.([a-z0-9-]+)\.([0-9]{1,9})\.x`)

// Marks yields the marks in the content of a resource, id and generation, in order and
// with repetitions.
func Marks(content []byte) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		// Most resources have none, and a plain search is much the faster.
		if !bytes.Contains(content, []byte("xbmark.")) {
			return
		}
		for _, m := range markPattern.FindAllSubmatch(content, -1) {
			n, err := strconv.Atoi(string(m[2]))
			if err == nil && !yield(string(m[1]), n) {
				return
			}
		}
	}
}
