package doc_test

import (
	"os"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
)

func Example() {
	d := &doc.Document{Title: "quickstart", Verdict: "FAIL", VerdictStyle: doc.Bad, Headline: "missed 1 of 2 SLOs"}
	d.Section("").Pair("Proxies", units.Plural(1200, "proxy", "proxies"))
	t := d.Section("SLO").Table().Code("metric").Right("value").Left("limit", "")
	t.Row("propagation.all.p99", units.Duration(0.2583), "100ms", "missed").Mark(3, doc.Bad)
	t.Row("acks.nacks", "0", "0", "kept").Mark(3, doc.Good)
	d.Section("Notes").Pair("Warning", "") // left out, and its section with it
	d.Detail("Commands").Code("xdsbench run quickstart")
	_ = d.Text(os.Stdout, doc.TextOptions{Width: 80})
	// Output:
	// FAIL  quickstart: missed 1 of 2 SLOs
	//
	// Proxies  1,200 proxies
	//
	// SLO
	//   metric                value  limit
	//   propagation.all.p99  258 ms  100ms  missed
	//   acks.nacks                0  0      kept
}
