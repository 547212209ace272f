package result

import (
	"encoding/json"
	"fmt"

	"github.com/xdsbench/xdsbench/internal/quantile"
	"github.com/xdsbench/xdsbench/result/observed"
)

// upgradeFigures gives the numbers in a result of v1 their present meaning.
func upgradeFigures(tree map[string]any, path string) ([]byte, error) {
	if err := upgradeQuantiles(tree); err != nil {
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	plane, _ := tree["controlPlane"].(map[string]any)
	metrics, _ := plane["metrics"].(map[string]any)
	histograms, _ := metrics["histograms"].(map[string]any)
	for _, h := range histograms {
		upgradeBuckets(h, 0)
	}
	if old, ok := plane["stages"].(map[string]any); ok {
		propagation, _ := tree["propagation"].(map[string]any)
		all, _ := propagation["all"].(map[string]any)
		stages, err := upgradeStages(old, number(all["max"]))
		if err != nil {
			return nil, fmt.Errorf("loading %s: stages: %w", path, err)
		}
		plane["stages"] = stages
	}
	return json.Marshal(tree)
}

// upgradeQuantiles takes the quantiles of distributions, whose ranks v1 rounded, from
// their histograms again.
func upgradeQuantiles(node any) error {
	fields, _ := node.(map[string]any)
	for _, below := range fields {
		if err := upgradeQuantiles(below); err != nil {
			return err
		}
	}
	encoded, _ := fields["histogram"].(string)
	if encoded == "" {
		return nil
	}
	h, err := (&Distribution{Histogram: encoded}).Decode()
	if err != nil || h.TotalCount() == 0 {
		return err
	}
	scale := number(fields["max"]) / float64(max(h.Max(), 1))
	q := quantile.Of(h, h.Max(), 0.5, 0.9, 0.99, 0.999)
	for i, name := range []string{"p50", "p90", "p99", "p999"} {
		fields[name] = float64(q[i]) * scale
	}
	return nil
}

// upgradeBuckets turns the widths that v1 had into buckets. Where it did not have their
// lower edges, that much on either side holds the quantile. The limit bounds both; 0 is
// none.
func upgradeBuckets(node any, limit float64) {
	f, _ := node.(map[string]any)
	beyond, _ := f["beyond"].(bool)
	set := func(name string, low, high float64) {
		b := observed.Bucket{Low: low, High: &high}
		if name == "p99" && beyond {
			b.High = nil
		}
		if limit > 0 {
			b, f[name] = b.Below(limit), min(number(f[name]), limit)
		}
		f[name+"Bucket"] = b
	}
	around := func(name, width string) {
		if w, value := number(f[width]), number(f[name]); w > 0 || name == "p99" && beyond {
			set(name, max(value-w, 0), value+w)
		}
	}
	if low, ok := f["p50Low"]; ok {
		set("p50", number(low), number(low)+number(f["p50Width"]))
		around("p99", "width")
		return
	}
	around("p50", "width")
	around("p99", "p99Width")
}

// upgradeStages leaves out the quantiles of what is left of other stages, and a rest
// that is negative.
func upgradeStages(old map[string]any, slowest float64) (*observed.Stages, error) {
	for _, stage := range old {
		upgradeBuckets(stage, slowest)
	}
	for _, name := range []string{"watch", "wire"} {
		if rest, ok := old[name].(map[string]any); ok {
			for _, q := range []string{"p50", "p99", "p50Bucket"} {
				delete(rest, q)
			}
		}
	}
	if ack, ok := old["ack"].(map[string]any); ok {
		delete(ack, "share")
	}
	data, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	s := &observed.Stages{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, err
	}
	s.Attribute()
	return s, nil
}

// number is that of a field of JSON; zero if there is none.
func number(field any) float64 {
	n, _ := field.(json.Number)
	x, _ := n.Float64()
	return x
}
