package faults

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// Record is what was injected, as /debug/faults and the file of EnvFile hold it.
// Proxies are named as in /debug/syncz, "pod.namespace".
type Record struct {
	// Settings are the fault variables as they were given.
	Settings map[string]string `json:"settings"`
	// Delays are the times in nanoseconds for which pushes were held back, as
	// measured, one per push and proxy. At most a million are kept; DelaysOmitted
	// counts the others.
	Delays        []time.Duration `json:"delays"`
	DelaysOmitted int             `json:"delaysOmitted,omitempty"`
	// Unserved are the proxies that get no pushes, UnservedPushes how many pushes
	// they would have got.
	Unserved       []string `json:"unserved"`
	UnservedPushes int      `json:"unservedPushes"`
	// Stale are the clusters of which proxies hold an old state after a stale push;
	// StaleResources counts all resources sent with an old state.
	Stale          []StaleCluster `json:"stale"`
	StaleResources int            `json:"staleResources"`
	// Lost are the updates that reached no proxy.
	Lost []LostUpdate `json:"lost"`
	// DuplicateResponses were sent a second time, with DuplicateResources in all.
	DuplicateResponses int `json:"duplicateResponses"`
	DuplicateResources int `json:"duplicateResources"`
	// Duplicates counts those responses by type, such as "rds".
	Duplicates map[string]int `json:"duplicates,omitempty"`
	// Early are the proxies that were sent endpoints before the clusters that
	// name them, EarlyResources how many.
	Early          []string `json:"early"`
	EarlyResources int      `json:"earlyResources"`
	// Late are the proxies whose second half of clusters comes late, LateClusters
	// how many clusters that is in all.
	Late         []string `json:"late"`
	LateClusters int      `json:"lateClusters"`
	// Unanswered counts the requests that got no answer, by variant and type, such
	// as "sotw/cds".
	Unanswered map[string]int `json:"unanswered"`
	// SilentFrom is when the control plane stopped sending, zero if it has not;
	// SilencedResponses is how many responses were not sent because of that.
	SilentFrom        time.Time `json:"silentFrom,omitzero"`
	SilencedResponses int       `json:"silencedResponses"`
	// BurnedPushes had CPU time added to them, BurnedSeconds in all.
	BurnedPushes  int     `json:"burnedPushes"`
	BurnedSeconds float64 `json:"burnedSeconds"`
}

// StaleCluster is one cluster of one proxy, or another resource.
type StaleCluster struct {
	Proxy   string `json:"proxy"`
	Cluster string `json:"cluster"`        // or the other resource's name
	Type    string `json:"type,omitempty"` // cds, lds or rds; empty for endpoints
}

// LostUpdate is the Update-th change of the endpoints of a cluster, or of another
// resource, counted from 1 since the start of the control plane.
type LostUpdate struct {
	Cluster string `json:"cluster"`        // or the listener's or virtual host's name
	Type    string `json:"type,omitempty"` // cds, lds or rds; empty for endpoints
	Update  int    `json:"update"`
}

// typeName is empty for endpoints.
func typeName(t xds.Type) string {
	if t == xds.EDS {
		return ""
	}
	return t.String()
}

// maxRecordedDelays bounds the memory of a record, 8 MB.
const maxRecordedDelays = 1 << 20

// Record returns what has been injected so far. version is that of the
// resource that the proxy should hold, empty for none.
func (f *Injector) Record(version func(StaleCluster) string) Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.record
	r.Delays, r.Lost = slices.Clone(r.Delays), slices.Clone(r.Lost)
	r.Unserved, r.Early, r.Late = slices.Clone(r.Unserved), slices.Clone(r.Early), slices.Clone(r.Late)
	r.Unanswered, r.Duplicates = maps.Clone(r.Unanswered), maps.Clone(r.Duplicates)
	r.Stale = []StaleCluster{}
	for pair, sent := range f.stale {
		if current := version(pair); current != sent && (current != "" || pair.Type != "") {
			r.Stale = append(r.Stale, pair)
		}
	}
	slices.SortFunc(r.Stale, func(a, b StaleCluster) int {
		return cmp.Or(cmp.Compare(a.Proxy, b.Proxy), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Cluster, b.Cluster))
	})
	return r
}

// Save writes a record to the file that was asked for, if any.
func (f *Injector) Save(version func(StaleCluster) string) error {
	if f == nil || f.want.file == "" {
		return nil
	}
	data, err := json.Marshal(f.Record(version))
	if err == nil {
		err = os.WriteFile(f.want.file, data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("%s: record of injected faults: %w", EnvFile, err)
	}
	return nil
}
