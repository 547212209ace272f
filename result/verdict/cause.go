package verdict

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/result"
)

// because adds to a statement what probably caused it.
func because(statement string, causes []string) string {
	if len(causes) == 0 {
		return statement
	}
	return statement + ": " + strings.Join(causes, "; ")
}

// silences names the peers that fell silent.
func silences(r *result.Result) []string {
	var found []string
	for _, s := range r.Silences {
		found = append(found, s.String())
	}
	return found
}

// undeliveredCauses says what probably kept pairs from being delivered.
func undeliveredCauses(r *result.Result) []string {
	found := append(silences(r), deafReplicas(r)...)
	if a := r.Acks; a != nil && a.NacksInjected > 0 {
		found = append(found, fmt.Sprintf("the profile has proxies reject responses (proxies.nack: %d NACKs)", a.NacksInjected))
	}
	if p, c := r.Propagation, r.Convergence; len(found) == 0 && p.Deliveries == 0 && c != nil && c.MissingClusters > 0 {
		found = unsubscribed(r)
	}
	for _, o := range r.Outages {
		if o.Seconds == nil {
			found = append(found, "the control plane, or a replica of it, was down at the end")
			break
		}
	}
	return found
}

// deafReplicas names the replicas that delivered none of their pairs, or less than
// half.
func deafReplicas(r *result.Result) []string {
	if r.ControlPlane == nil {
		return nil
	}
	var found []string
	for i, x := range r.ControlPlane.Replicas {
		if x.Deliveries == nil || x.Undelivered == nil || *x.Undelivered <= *x.Deliveries {
			continue
		}
		found = append(found, fmt.Sprintf("replica %d (%s) delivered %d of %d", i, x.Address, *x.Deliveries, *x.Deliveries+*x.Undelivered))
	}
	return found
}

// unsubscribed says why no proxy may have been told of what changed.
func unsubscribed(r *result.Result) []string {
	var profile struct {
		Proxies struct {
			Kinds map[string]float64 `json:"kinds"`
		} `json:"proxies"`
		Target struct {
			ClusterName string `json:"clusterName"`
		} `json:"target"`
	}
	_ = json.Unmarshal(r.Profile, &profile) // without a profile less is known
	kinds := slices.Sorted(maps.Keys(profile.Proxies.Kinds))
	if slices.Equal(kinds, []string{"ztunnel"}) {
		return []string{"a fleet of ztunnels has no EDS"}
	}
	return []string{fmt.Sprintf("no proxy subscribed to a cluster that changed: does the control plane watch this API server, and does it name its EDS resources %q (--clusters)?",
		profile.Target.ClusterName)}
}

// anyOf quotes the most frequent reason.
func anyOf(reasons map[string]int64) string {
	most := ""
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		if most == "" || reasons[reason] > reasons[most] {
			most = reason
		}
	}
	if most == "" {
		return ""
	}
	return fmt.Sprintf(", such as %q", most)
}
