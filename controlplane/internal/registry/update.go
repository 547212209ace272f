package registry

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Reasons of a push, as istiod labels pilot_push_triggers.
const (
	ReasonEndpoint = "endpoint"
	ReasonHeadless = "headlessendpoint"
	ReasonService  = "service"
	ReasonConfig   = "config"
	ReasonProxy    = "proxy"
	ReasonGlobal   = "global"
)

// Names are the names of services.
type Names = sets.Set[types.NamespacedName]

// Update says what has changed. It is not modified once it has been sent.
type Update struct {
	Full      bool  // proxies need more than EDS
	Services  Names // definitions that changed, appeared or went
	Endpoints Names // services whose endpoints changed
	Routes    Names // services of which only routes changed
	Reasons   map[string]int
}

// Merge returns an update that covers both; it is full if either is.
func (u *Update) Merge(other *Update) *Update {
	return &Update{
		Full:      u.Full || other.Full,
		Services:  u.Services.Union(other.Services),
		Endpoints: u.Endpoints.Union(other.Endpoints),
		Routes:    u.Routes.Union(other.Routes),
		Reasons:   SumReasons(u.Reasons, other.Reasons),
	}
}

// SumReasons adds up the counts of two sets of reasons.
func SumReasons(a, b map[string]int) map[string]int {
	out := make(map[string]int, len(a))
	maps.Copy(out, a)
	for reason, n := range b {
		out[reason] += n
	}
	return out
}
