package report

import (
	"strings"

	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// quantileText names and writes a quantile of times, "p99 119 ms", and says where it is
// the largest of too few samples: "p99 119 ms (max of 60)".
func quantileText(d *result.Distribution, name string, seconds float64) string {
	return name + " " + marked(units.Duration(seconds), d.Mark(name))
}

// marked puts a note in brackets after a figure, if there is any.
func marked(figure, note string) string {
	if note == "" {
		return figure
	}
	return figure + " (" + note + ")"
}

// stageQuantile writes a quantile of a stage: its bucket if that is all that is known.
func stageQuantile(seconds *float64, in *observed.Bucket, mark string) string {
	switch {
	case in != nil:
		return marked(bucketText(*in), mark)
	case seconds != nil:
		return marked(units.Duration(*seconds), mark)
	}
	return ""
}

// bucketText writes the edges of a bucket of times: "100 ms–1 s", "100–500 ms".
func bucketText(b observed.Bucket) string {
	if b.High == nil {
		return "over " + units.Duration(b.Low)
	}
	from, to := units.Duration(b.Low), units.Duration(*b.High)
	number, unit, _ := strings.Cut(from, " ")
	if b.Low == 0 || strings.HasSuffix(to, " "+unit) {
		from = number
	}
	return from + "–" + to
}
