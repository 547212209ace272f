package controlplane

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// FaultRecord is what was injected, as /debug/faults and FaultFile give it.
// Proxies are named as in /debug/syncz, "pod.namespace".
type FaultRecord struct {
	// Settings are the fault variables as they were given.
	Settings map[string]string `json:"settings"`
	// Delays are the times, in nanoseconds, for which pushes were held back, one
	// per push and proxy: measured, not asked for. At most a million are kept,
	// DelaysOmitted counts the others.
	Delays        []time.Duration `json:"delays"`
	DelaysOmitted int             `json:"delaysOmitted,omitempty"`
	// Unserved are the proxies that get no pushes, and how many that were.
	Unserved       []string `json:"unserved"`
	UnservedPushes int      `json:"unservedPushes"`
	// Stale are the clusters that proxies now hold wrongly after a stale push;
	// StaleResources counts all resources sent with an old state.
	Stale          []StaleCluster `json:"stale"`
	StaleResources int            `json:"staleResources"`
	// Lost are the updates that reached no proxy.
	Lost []LostUpdate `json:"lost"`
	// DuplicateResponses were sent a second time, with DuplicateResources in all.
	DuplicateResponses int `json:"duplicateResponses"`
	DuplicateResources int `json:"duplicateResources"`
	// Early are the proxies that were sent endpoints before the clusters that
	// name them, EarlyResources how many.
	Early          []string `json:"early"`
	EarlyResources int      `json:"earlyResources"`
	// BurnedPushes each cost the CPU time asked for, BurnedSeconds in all.
	BurnedPushes  int     `json:"burnedPushes"`
	BurnedSeconds float64 `json:"burnedSeconds"`
}

// StaleCluster is one cluster of one proxy.
type StaleCluster struct {
	Proxy   string `json:"proxy"`
	Cluster string `json:"cluster"`
}

// LostUpdate is the Update-th change of a cluster, counted from 1 since the
// start of the control plane.
type LostUpdate struct {
	Cluster string `json:"cluster"`
	Update  int    `json:"update"`
}

// maxRecordedDelays bounds the memory of a record, 8 MB.
const maxRecordedDelays = 1 << 20

// snapshotRecord returns a copy of the record; now is what proxies should hold.
func (f *faults) snapshotRecord(now *snapshot) FaultRecord {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.record
	r.Settings = maps.Clone(f.spec.values)
	r.Delays = slices.Clone(r.Delays)
	r.Unserved = slices.Sorted(maps.Keys(f.unserved))
	r.Early = slices.Sorted(maps.Keys(f.early))
	r.Lost = append([]LostUpdate{}, r.Lost...)
	r.Stale = []StaleCluster{}
	for pair, version := range f.stale {
		if e, ok := now.endpoints[pair.Cluster]; ok && e.version != version {
			r.Stale = append(r.Stale, pair)
		}
	}
	slices.SortFunc(r.Stale, func(a, b StaleCluster) int {
		return strings.Compare(a.Proxy+" "+a.Cluster, b.Proxy+" "+b.Cluster)
	})
	return r
}

// save writes the record to the file that was asked for, if any. now is nil if
// nothing was ever served.
func (f *faults) save(now *snapshot) error {
	if f == nil || f.spec.file == "" || now == nil {
		return nil
	}
	data, err := json.Marshal(f.snapshotRecord(now))
	if err != nil {
		return fmt.Errorf("record of injected faults: %w", err)
	}
	if err := os.WriteFile(f.spec.file, data, 0o644); err != nil {
		return fmt.Errorf("%s: record of injected faults: %w", FaultFile, err)
	}
	return nil
}
