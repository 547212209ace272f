package report

import (
	"fmt"

	"github.com/xdsbench/xdsbench/collect"
)

// outage describes one time without a control plane.
func outage(o collect.Outage) string {
	text := "control plane gone at " + span(o.At)
	if !o.Planned {
		text += " (it ended by itself)"
	}
	if o.Seconds == nil {
		return text + " and never ready again"
	}
	text += ", ready again after " + span(*o.Seconds)
	if h := o.Held; h != nil {
		text += fmt.Sprintf("; by then ghost endpoints %s, missing endpoints %s, diverged %s",
			count(h.GhostEndpoints), count(h.MissingEndpoints), count(h.Diverged))
	}
	if o.ReadyAgain == nil {
		return text + "; not all proxies got ready again"
	}
	return text + "; all proxies ready again " + span(*o.ReadyAgain) + " later"
}
