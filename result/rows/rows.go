package rows

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/result/effect"
)

// Mutation is one line of mutations.csv. Times are seconds: Scheduled, Issued
// and Acked from the start of the steady phase (Acked is 0 without an answer),
// First to Last from the scheduled time, Median and P99 within 1 %. P99 is Last for
// fewer than 100 deliveries.
type Mutation struct {
	Seq, Op                           uint64
	Kind, Step, Service, Object       string
	Scheduled, Issued, Acked          float64
	Late, Noop, Failed                bool
	Expected, Delivered, Coalesced    int64
	Undelivered, Interrupted, Retired int64
	Sampled                           bool // whether the next four hold
	First, Median, P99, Last          float64
	// Effect is what was sent because of it, and ProxiesReached how many had of that.
	Effect         effect.Effect
	ProxiesReached int
}

// Proxy is one line of proxies.csv. Times are seconds; P50 and P99 are
// within 10 %, and P99 is Max for fewer than 100 deliveries. Diverged counts the
// clusters that are wrong at the end.
type Proxy struct {
	Proxy                                int
	Name, Variant, Kind                  string
	Ready                                bool
	TimeToReady                          float64
	ConfigBytes                          int64
	Disconnects, Refused                 int64
	Responses, Bytes, Nacks              int64
	Deliveries, Undelivered, Interrupted int64
	Diverged                             int
	P50, P99, Max                        float64
}

func mutationHeader() []string {
	return []string{
		"seq", "op", "kind", "step", "service", "object", "scheduled_offset", "issued", "acked",
		"late", "noop", "failed", "expected", "delivered", "coalesced", "undelivered", "interrupted", "retired",
		"first", "median", "p99", "last",
		"types", "full", "proxies", "responses", "resources", "removed", "bytes", "changed_bytes", "duplicates", "amplification",
	}
}

func (r Mutation) fields() []string {
	f := []string{
		strconv.FormatUint(r.Seq, 10), strconv.FormatUint(r.Op, 10), r.Kind, r.Step, r.Service, r.Object,
		seconds(r.Scheduled), seconds(r.Issued), present(r.Acked),
		strconv.FormatBool(r.Late), strconv.FormatBool(r.Noop), strconv.FormatBool(r.Failed),
		number(r.Expected), number(r.Delivered), number(r.Coalesced),
		number(r.Undelivered), number(r.Interrupted), number(r.Retired),
	}
	if r.Sampled {
		f = append(f, seconds(r.First), seconds(r.Median), seconds(r.P99), seconds(r.Last))
	} else {
		f = append(f, "", "", "", "")
	}
	return append(f, r.effects()...)
}

// effects are the cells on what was sent because of the mutation. Types is a list of
// TYPE=RESPONSES/RESOURCES/REMOVED/BYTES.
func (r Mutation) effects() []string {
	types := slices.Sorted(maps.Keys(r.Effect.Types))
	cells := make([]string, len(types))
	for i, t := range types {
		s := r.Effect.Types[t]
		cells[i] = fmt.Sprintf("%s=%d/%d/%d/%d", t, s.Responses, s.Resources, s.Removed, s.Bytes)
	}
	sum := r.Effect.Total()
	amplification := ""
	if a := r.Effect.Amplification; a != nil {
		amplification = strconv.FormatFloat(*a, 'f', 2, 64)
	}
	return []string{
		strings.Join(cells, " "), strconv.FormatBool(effect.Full(types...)), strconv.Itoa(r.ProxiesReached),
		number(sum.Responses), number(sum.Resources), number(sum.Removed), number(sum.Bytes),
		number(r.Effect.ChangedBytes), number(r.Effect.Duplicates), amplification,
	}
}

func proxyHeader() []string {
	return []string{
		"proxy", "name", "variant", "ready", "time_to_ready", "config_bytes", "disconnects", "refused",
		"responses", "bytes", "nacks", "deliveries", "undelivered", "interrupted", "diverged", "p50", "p99", "max", "kind",
	}
}

func (r Proxy) fields() []string {
	return []string{
		strconv.Itoa(r.Proxy), r.Name, r.Variant, strconv.FormatBool(r.Ready), present(r.TimeToReady),
		number(r.ConfigBytes), number(r.Disconnects), number(r.Refused),
		number(r.Responses), number(r.Bytes), number(r.Nacks),
		number(r.Deliveries), number(r.Undelivered), number(r.Interrupted), strconv.Itoa(r.Diverged),
		present(r.P50), present(r.P99), present(r.Max), r.Kind,
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// seconds writes seconds to the microsecond.
func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 6, 64) }

// present leaves a cell empty where there is no figure.
func present(s float64) string {
	if s == 0 {
		return ""
	}
	return seconds(s)
}
