package registry

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
)

// config are Istio's objects.
type config struct {
	all      map[types.NamespacedName]*kube.Sidecar
	sidecars map[string]*kube.Sidecar // in force, by namespace; replaced, not altered
	rules    byHost[*kube.DestinationRule]
	routes   byHost[*kube.VirtualService]
}

func newConfig() config {
	return config{
		all:    make(map[types.NamespacedName]*kube.Sidecar),
		rules:  make(byHost[*kube.DestinationRule]),
		routes: make(byHost[*kube.VirtualService]),
	}
}

// byHost holds objects by service and by their own names.
type byHost[T any] map[types.NamespacedName]map[types.NamespacedName]T

func (b byHost[T]) set(host, name types.NamespacedName, object T) {
	if b[host] == nil {
		b[host] = make(map[types.NamespacedName]T)
	}
	b[host][name] = object
}

func (b byHost[T]) remove(host, name types.NamespacedName) {
	delete(b[host], name)
	if len(b[host]) == 0 {
		delete(b, host)
	}
}

// of returns the object in force for a service: of several, the one that has the
// first name.
func (b byHost[T]) of(host types.NamespacedName) T {
	var none T
	objects := b[host]
	if len(objects) == 0 {
		return none
	}
	return objects[slices.MinFunc(slices.Collect(maps.Keys(objects)), compareNames)]
}

func compareNames(a, b types.NamespacedName) int { return slices.Compare(key(a), key(b)) }

func key(n types.NamespacedName) []string { return []string{n.Namespace, n.Name} }

// addConfigLocked adds to a view what config objects say of a service.
func (r *Registry) addConfigLocked(v *View, name types.NamespacedName) {
	if routes := r.config.routes.of(name); routes != nil {
		v.Routes[name] = routes
	}
	rule := r.config.rules.of(name)
	if rule == nil {
		return
	}
	v.Rules[name] = rule
	if s := r.services[name]; s != nil && rule.HasSubsets() {
		for _, slice := range s.slices {
			for _, address := range slice.Addresses() {
				v.Pods[address] = r.pods[address].workload
			}
		}
	}
}

// relabel reports that another workload is at an address: it may have moved
// between subsets.
func (r *Registry) relabel(address string) {
	r.apply(func() *Update {
		moved := make(Names)
		for host := range r.config.rules {
			s := r.services[host]
			if s == nil || s.definition == nil || !r.config.rules.of(host).HasSubsets() {
				continue
			}
			if s.hasSlice(func(slice *kube.EndpointSlice) bool { return slices.Contains(slice.Addresses(), address) }) {
				moved.Insert(host)
			}
		}
		if moved.Len() == 0 {
			return nil
		}
		return &Update{Endpoints: moved, Reasons: map[string]int{ReasonEndpoint: 1}}
	})
}

// existingLocked returns those of some services that exist.
func (r *Registry) existingLocked(hosts ...types.NamespacedName) Names {
	names := make(Names)
	for _, host := range hosts {
		if s := r.services[host]; s != nil && s.definition != nil {
			names.Insert(host)
		}
	}
	return names
}

func (r *Registry) onRule(previous, next *unstructured.Unstructured) {
	before, after := parsed(previous, kube.NewDestinationRule), parsed(next, kube.NewDestinationRule)
	if equality.Semantic.DeepEqual(before, after) {
		return
	}
	r.apply(func() *Update {
		var hosts []types.NamespacedName
		if before != nil {
			r.config.rules.remove(before.Host, before.Name)
			hosts = append(hosts, before.Host)
		}
		if after != nil {
			r.config.rules.set(after.Host, after.Name, after)
			hosts = append(hosts, after.Host)
		}
		names := r.existingLocked(hosts...)
		if names.Len() == 0 {
			return nil
		}
		return &Update{Full: true, Services: names, Reasons: map[string]int{ReasonConfig: 1}}
	})
}

func (r *Registry) onVirtualService(previous, next *unstructured.Unstructured) {
	before, after := parsed(previous, kube.NewVirtualService), parsed(next, kube.NewVirtualService)
	if equality.Semantic.DeepEqual(before, after) {
		return
	}
	r.apply(func() *Update {
		var hosts []types.NamespacedName
		if before != nil {
			for _, host := range before.Hosts {
				r.config.routes.remove(host, before.Name)
			}
			hosts = append(hosts, before.Hosts...)
		}
		if after != nil {
			for _, host := range after.Hosts {
				r.config.routes.set(host, after.Name, after)
			}
			hosts = append(hosts, after.Hosts...)
		}
		names := r.existingLocked(hosts...)
		if names.Len() == 0 {
			return nil
		}
		return &Update{Full: true, Routes: names, Reasons: map[string]int{ReasonConfig: 1}}
	})
}

// onSidecar finds the object that is in force in its namespace: of several, the
// one that has the first name.
func (r *Registry) onSidecar(previous, next *unstructured.Unstructured) {
	before, after := parsed(previous, kube.NewSidecar), parsed(next, kube.NewSidecar)
	if equality.Semantic.DeepEqual(before, after) {
		return
	}
	r.apply(func() *Update {
		if before != nil {
			delete(r.config.all, before.Name)
		}
		if after != nil {
			r.config.all[after.Name] = after
		}
		inForce := make(map[string]*kube.Sidecar)
		for _, name := range slices.SortedFunc(maps.Keys(r.config.all), compareNames) {
			if inForce[name.Namespace] == nil {
				inForce[name.Namespace] = r.config.all[name]
			}
		}
		r.config.sidecars = inForce
		return &Update{Full: true, Services: sets.New[types.NamespacedName](), Reasons: map[string]int{ReasonConfig: 1}}
	})
}

// parsed returns nil for no object.
func parsed[T any](object *unstructured.Unstructured, parse func(*unstructured.Unstructured) *T) *T {
	if object == nil {
		return nil
	}
	return parse(object)
}
