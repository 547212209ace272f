package snapshot

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/xdsbench/xdsbench/controlplane/internal/registry"
)

// PushRequest says what a push has to bring to a proxy. Proxies share it, so it is
// not modified once it is queued; merging makes a new one.
type PushRequest struct {
	Full    bool
	Start   time.Time // when the oldest push in it entered the queue
	Reasons map[string]int

	Clusters  sets.Set[string] // CDS names of changed services, present or gone
	Endpoints sets.Set[string] // EDS names to send to their subscribers
}

// Merge returns a request that covers both. It keeps the older start, so that
// queue and convergence times count from the first change that waited.
func (p *PushRequest) Merge(newer *PushRequest) *PushRequest {
	return &PushRequest{
		Full:      p.Full || newer.Full,
		Start:     p.Start,
		Reasons:   registry.SumReasons(p.Reasons, newer.Reasons),
		Clusters:  p.Clusters.Union(newer.Clusters),
		Endpoints: p.Endpoints.Union(newer.Endpoints),
	}
}
