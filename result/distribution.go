package result

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/internal/quantile"
)

// Distribution summarises a set of samples, in seconds or in bytes. A quantile is
// the smallest sample that at least that share of the samples does not exceed, within
// 0.1 %: the upper edge of its histogram's bucket, or Max where that is less. Min and
// Max are exact.
type Distribution struct {
	Count int64   `json:"count"`
	Min   float64 `json:"min"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
	// Histogram is the HdrHistogram, V2 compressed, in base64: nanoseconds or bytes.
	Histogram string `json:"histogram,omitempty"`
}

// Covers reports whether there are enough samples for the quantile at a share such as
// 0.99; otherwise it is Max, and must be called so wherever it is shown.
func (d *Distribution) Covers(share float64) bool { return quantile.Covered(share, d.Count) }

// Mark is what to write beside a field, by its JSON name, that is a quantile for which
// the samples are too few: "max of 60" for the p99 of sixty. It is empty for others.
func (d *Distribution) Mark(field string) string { return quantile.Mark(field, d.Count) }

// Decode returns the samples as a histogram of nanoseconds or bytes.
func (d *Distribution) Decode() (*hdrhistogram.Histogram, error) {
	h, err := hdrhistogram.Decode([]byte(d.Histogram))
	if err != nil {
		return nil, fmt.Errorf("decoding a histogram of %d samples: %w", d.Count, err)
	}
	return h, nil
}

// Summarize describes the samples in h, of which the least and the largest are known
// exactly, each multiplied by scale; nil without samples.
func Summarize(h *hdrhistogram.Histogram, least, largest int64, scale float64) (*Distribution, error) {
	if h == nil || h.TotalCount() == 0 {
		return nil, nil //nolint:nilnil // no samples is no distribution, and no error.
	}
	encoded, err := h.EncodeV2()
	if err != nil {
		return nil, fmt.Errorf("encoding a histogram of %d samples: %w", h.TotalCount(), err)
	}
	q := quantile.Of(h, largest, 0.5, 0.9, 0.99, 0.999)
	return &Distribution{
		Count: h.TotalCount(),
		Min:   float64(least) * scale,
		// It is that of the middles of the buckets.
		Mean:      min(max(h.Mean(), float64(least)), float64(largest)) * scale,
		P50:       float64(q[0]) * scale,
		P90:       float64(q[1]) * scale,
		P99:       float64(q[2]) * scale,
		P999:      float64(q[3]) * scale,
		Max:       float64(largest) * scale,
		Histogram: string(encoded),
	}, nil
}
