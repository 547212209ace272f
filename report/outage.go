package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result"
)

// outage describes one time without a control plane, or without replicas of it.
func outage(o result.Outage) string {
	text := gone(o.Replicas) + " gone at " + units.Duration(o.At)
	if !o.Planned {
		text += " (it exited by itself)"
	}
	if o.Seconds == nil {
		return text + " and never ready again"
	}
	text += ", ready again after " + units.Duration(*o.Seconds)
	if h := o.Held; h != nil {
		text += fmt.Sprintf("; by then stale endpoints %s, missing endpoints %s, diverged %s",
			units.Count(h.StaleEndpoints), units.Count(h.MissingEndpoints), units.Count(h.Diverged))
	}
	switch {
	case o.ReadyAgain != nil:
		return text + "; all proxies ready again " + units.Duration(*o.ReadyAgain) + " later"
	case o.ProxiesAway != nil:
		return text + "; all proxies ready again after " + units.Duration(*o.ProxiesAway) + ", through the remaining replicas"
	}
	return text + "; not all proxies became ready again"
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
