package harness

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/result"
)

// absences are the times in which the target, or some of its replicas, was away.
type absences struct {
	mu   sync.Mutex // guards all below
	list []absence
	// ahead says that the planned outage is still to come; gone that the target
	// will not come back.
	ahead, gone bool
	// want is how many proxies must be ready for all to be back.
	want int64
}

// absence is one of them. The later times are zero until they are known; that the
// proxies are back may come before the replicas are.
type absence struct {
	from, to, back event.Time
	planned        bool
	replicas       []int
	held           *result.Drift
}

// expect sets how many proxies were ready when steady load began, or how many
// there are to be before.
func (a *absences) expect(ready int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.want = ready
}

// expectMore changes how many proxies must be ready.
func (a *absences) expectMore(proxies int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.want += proxies
}

func (a *absences) wanted() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.want
}

// plan announces an outage.
func (a *absences) plan() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ahead = true
}

// begin notes that replicas are gone, and returns the number of that absence.
func (a *absences) begin(at event.Time, planned bool, replicas []int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, absence{from: at, planned: planned, replicas: replicas})
	if planned {
		a.ahead = false
	}
	return len(a.list) - 1
}

// end notes that they are ready again, and what the proxies held before.
func (a *absences) end(number int, at event.Time, held *result.Drift) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list[number].to, a.list[number].held = at, held
}

// back notes that all proxies are ready again.
func (a *absences) back(number int, at event.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list[number].back = at
}

// giveUp notes that the target will not come back.
func (a *absences) giveUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ahead, a.gone = false, true
}

// over reports whether no absence is to come or to end, proxies included.
func (a *absences) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gone || !a.ahead && !slices.ContainsFunc(a.list, func(x absence) bool { return x.to == 0 || x.back == 0 })
}

// outages are the absences for the result, with times that count from the start
// of the steady phase, and with the replicas if there are several.
func (a *absences) outages(start event.Time, several bool) []result.Outage {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []result.Outage
	for _, x := range a.list {
		o := result.Outage{At: x.from.Sub(start).Seconds(), Planned: x.planned, Held: x.held}
		if several {
			o.Replicas = x.replicas
		}
		if x.to != 0 {
			o.Seconds = new(x.to.Sub(x.from).Seconds())
		}
		if x.back != 0 {
			o.ProxiesAway = new(x.back.Sub(x.from).Seconds())
		}
		if x.to != 0 && x.back >= x.to {
			o.ReadyAgain = new(x.back.Sub(x.to).Seconds())
		}
		list = append(list, o)
	}
	return list
}

// plannedOutage returns a channel that is closed when the profile's outage is
// due; nil if there is none.
func (r *run) plannedOutage(ctx context.Context) <-chan struct{} {
	o := r.cfg.Profile.Target.Outage
	if o == nil {
		return nil
	}
	due := make(chan struct{})
	r.wait.Go(func() {
		select {
		case <-ctx.Done():
		case <-r.steadyBegan:
			if sleep(ctx, o.At.Duration) {
				close(due)
			}
		}
	})
	return due
}

// drift compares what the proxies hold with the objects that the API server
// has: the model of the mesh is the churn's while that runs.
func (r *run) drift(ctx context.Context) (*result.Drift, error) {
	list, err := r.kube.client.DiscoveryV1().EndpointSlices(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		LabelSelector: mesh.RunLabel + "=" + r.id,
	})
	if err != nil {
		return nil, fmt.Errorf("list EndpointSlices: %w", err)
	}
	usable := make(map[string][]uint64)
	for _, clusters := range r.clusterNames {
		for _, name := range clusters {
			usable[name] = nil
		}
	}
	for i := range list.Items {
		r.addUsable(usable, &list.Items[i])
	}
	d := r.collector.Drift(collect.Final{Held: r.fleet.Endpoints, Truth: maps.All(usable)})
	return &d, nil
}

// addUsable adds the usable endpoints of a slice to the clusters they are in.
func (r *run) addUsable(usable map[string][]uint64, slice *discoveryv1.EndpointSlice) {
	if slice.AddressType == discoveryv1.AddressTypeFQDN {
		return // control planes of Envoys make no endpoints of host names
	}
	clusters := r.clusterNames[slice.Namespace+"/"+slice.Labels[discoveryv1.LabelServiceName]]
	for _, port := range slice.Ports {
		if port.Name == nil || port.Port == nil || clusters[*port.Name] == "" {
			continue
		}
		name := clusters[*port.Name]
		for i := range slice.Endpoints {
			// As in the Kubernetes API, no ready condition means ready.
			if ready := slice.Endpoints[i].Conditions.Ready; ready != nil && !*ready {
				continue
			}
			for _, address := range slice.Endpoints[i].Addresses {
				usable[name] = append(usable[name], event.EndpointHash(address, uint32(*port.Port)))
			}
		}
	}
}

// clusterNamesOf names the EDS resource of each port of each service, by the
// service's key and the port's name. Headless services have none.
func clusterNamesOf(services iter.Seq[*mesh.Service]) map[string]map[string]string {
	all := make(map[string]map[string]string)
	for s := range services {
		ports := s.Object().Spec.Ports
		byPort := make(map[string]string, len(ports))
		for i, state := range s.States()[:min(len(s.States()), s.Ports())] { // subsets follow
			byPort[ports[i].Name] = state.Name
		}
		all[s.Key()] = byPort
	}
	return all
}
