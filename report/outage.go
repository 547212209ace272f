package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// outage describes one time without a control plane, or without replicas of it.
func outage(o result.Outage) string {
	text := gone(o.Replicas) + " gone at " + span(o.At)
	if !o.Planned {
		text += " (it ended by itself)"
	}
	if o.Seconds == nil {
		return text + " and never ready again"
	}
	text += ", ready again after " + span(*o.Seconds)
	if h := o.Held; h != nil {
		text += fmt.Sprintf("; by then ghost endpoints %s, missing endpoints %s, diverged %s",
			count(h.StaleEndpoints), count(h.MissingEndpoints), count(h.Diverged))
	}
	switch {
	case o.ReadyAgain != nil:
		return text + "; all proxies ready again " + span(*o.ReadyAgain) + " later"
	case o.ProxiesAway != nil:
		return text + "; all proxies ready again after " + span(*o.ProxiesAway) + ", by the replicas left"
	}
	return text + "; not all proxies got ready again"
}

// gone names what went.
func gone(replicas []int) string {
	if len(replicas) == 0 {
		return "control plane"
	}
	var numbers []string
	for _, i := range replicas {
		numbers = append(numbers, strconv.Itoa(i))
	}
	word := "replica "
	if len(numbers) > 1 {
		word = "replicas "
	}
	return word + strings.Join(numbers, ", ")
}

// replicas is the table of several replicas.
func replicas(c *observed.ControlPlane) table {
	t := table{title: "Replicas", head: []string{"connections", "steady", "fewest", "most", "end", "responses", "CPU", "peak RSS"}}
	if c == nil {
		return t
	}
	for i := range c.Replicas {
		x := &c.Replicas[i]
		cpu, rss := "", ""
		if x.CPUSeconds != nil {
			cpu = span(*x.CPUSeconds)
		}
		if x.PeakRSSBytes != nil {
			rss = size(float64(*x.PeakRSSBytes))
		}
		label := fmt.Sprintf("%d at %s", i, x.Address)
		if x.Restarted {
			label += ", restarted"
		}
		t.rows = append(t.rows, []string{
			label, count(x.ConnectionsAtSteadyStart), count(x.ConnectionsMin), count(x.ConnectionsMax), count(x.ConnectionsAtEnd),
			count(x.Responses), cpu, rss,
		})
	}
	return t
}
