package result

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Distribution summarises a set of samples, in seconds or in bytes. Quantiles
// are within 0.1 %; they are the largest value of the histogram's bucket.
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

// Decode returns the samples as a histogram of nanoseconds or bytes.
func (d *Distribution) Decode() (*hdrhistogram.Histogram, error) {
	h, err := hdrhistogram.Decode([]byte(d.Histogram))
	if err != nil {
		return nil, fmt.Errorf("decoding a histogram of %d samples: %w", d.Count, err)
	}
	return h, nil
}

// Summarize describes h, each value multiplied by scale; nil without samples.
func Summarize(h *hdrhistogram.Histogram, scale float64) (*Distribution, error) {
	if h == nil || h.TotalCount() == 0 {
		return nil, nil //nolint:nilnil // no samples is no distribution, and no error.
	}
	encoded, err := h.EncodeV2()
	if err != nil {
		return nil, fmt.Errorf("encoding a histogram of %d samples: %w", h.TotalCount(), err)
	}
	q := h.ValueAtPercentilesSlice([]float64{50, 90, 99, 99.9})
	return &Distribution{
		Count:     h.TotalCount(),
		Min:       float64(h.Min()) * scale,
		Mean:      h.Mean() * scale,
		P50:       float64(q[0]) * scale,
		P90:       float64(q[1]) * scale,
		P99:       float64(q[2]) * scale,
		P999:      float64(q[3]) * scale,
		Max:       float64(h.Max()) * scale,
		Histogram: string(encoded),
	}, nil
}
