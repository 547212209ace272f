package mesh

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xdsbench/xdsbench/mesh/custom"
)

const (
	// ManagedByLabel is on every object, with the value ManagedByValue.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedByValue is the value of ManagedByLabel.
	ManagedByValue = "xdsbench"
	// RunLabel is on every object, with the run's identifier.
	RunLabel = "xdsbench.io/run"

	// DefaultClusterName is how Istio names the EDS resource of a service's port:
	// https://istio.io/latest/docs/ops/diagnostic-tools/proxy-cmd/
	DefaultClusterName = "outbound|{port}||{service}.{namespace}.svc.cluster.local"

	defaultNamespacePrefix = "xb"
	podsPerNode            = 100
	minNodes               = 3
	zones                  = 3
	region                 = "region-1"
)

// Config says what mesh to make.
type Config struct {
	Spec
	// Proxies is how many fake proxies there are; each is a pod of the fleet.
	Proxies int
	Seed    uint64
	// RunID is the value of the label RunLabel; it must be a valid label value.
	RunID string
	// NamespacePrefix begins the names of namespaces and nodes. Empty means "xb".
	NamespacePrefix string
	// ClusterName is the template of EDS resource names, with the placeholders
	// {service}, {namespace}, {port} (its number, such as 80) and {portName} (such
	// as http-80). Empty means DefaultClusterName.
	ClusterName string
}

// Mesh is all that a run puts into the API server.
type Mesh struct {
	Namespaces []*corev1.Namespace
	Nodes      []*corev1.Node
	// Services are those that churn changes.
	Services []*Service
	// Configs are the config objects that exist from the start.
	Configs []ConfigObject
	// Fleet are the services whose pods the fake proxies are, one per namespace.
	// They are exported to no namespace, so that what a proxy is sent does not
	// grow with the fleet; a control plane that does not know Istio's annotation
	// for that sends them.
	Fleet []*Service
	// Proxies are the pods of the fleet, in the order of the proxies.
	Proxies []Pod
	// Definitions are the CustomResourceDefinitions of the spec's CRDs, Custom the
	// objects of its Objects.
	Definitions, Custom []custom.Object

	next  *atomic.Int64
	byKey map[string]*Service
	// settled are, by key, the services that have a config object of a kind from the start.
	settled map[ConfigKind]map[string]bool
}

// node is what a pod needs of its node.
type node struct{ name, ip, zone string }

// New makes the mesh. It fails with every problem of the config, joined.
func New(cfg Config) (*Mesh, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return build(cfg)
}

// build makes the mesh of a config that has its defaults.
func build(cfg Config) (*Mesh, error) {
	sh := newShared(cfg)
	m := &Mesh{next: &atomic.Int64{}, byKey: map[string]*Service{}}
	for _, n := range sh.nodes {
		m.Nodes = append(m.Nodes, n.object(sh.labels))
	}
	for i := range cfg.Namespaces {
		m.Namespaces = append(m.Namespaces, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: cfg.namespace(i), Labels: maps.Clone(sh.labels)},
		})
	}
	if err := m.addFleet(cfg, sh); err != nil {
		return nil, err
	}
	if err := m.addServices(cfg, sh); err != nil {
		return nil, err
	}
	if err := m.addOddities(cfg.Spec, cfg.Seed); err != nil {
		return nil, err
	}
	if cfg.Scope == ScopeNamespace {
		m.addScopes(sh)
	}
	return m, errors.Join(m.addConfigs(cfg.Spec), m.addCustom(cfg, sh))
}

func (cfg Config) withDefaults() Config {
	cfg.NamespacePrefix = cmp.Or(cfg.NamespacePrefix, defaultNamespacePrefix)
	cfg.ClusterName = cmp.Or(cfg.ClusterName, DefaultClusterName)
	return cfg
}

// Validate returns every problem of the config, joined; each is one line that
// begins with the path of the profile's field.
func (cfg Config) Validate() error {
	cfg = cfg.withDefaults()
	problems := []error{cfg.Spec.Validate()}
	if cfg.Proxies > maxEndpoints {
		problems = append(problems, fmt.Errorf("proxies.count: %d: must be at most %d, for 10.0.0.0/8 to hold their pods", cfg.Proxies, maxEndpoints))
	}
	for _, reason := range validation.IsValidLabelValue(cfg.RunID) {
		problems = append(problems, fmt.Errorf("run ID: %q: %s", cfg.RunID, reason))
	}
	for _, reason := range validation.IsDNS1123Label(cfg.namespace(max(0, cfg.Namespaces-1))) {
		problems = append(problems, fmt.Errorf("namespace prefix: %q: %s", cfg.NamespacePrefix, reason))
	}
	problems = append(problems, cfg.validateClusterName())
	return errors.Join(append(problems, cfg.validateCustom(errors.Join(problems...) == nil))...)
}

// validateClusterName makes sure that no two clusters get one name. The names
// of services are unique in the mesh, so {namespace} may be left out.
func (cfg Config) validateClusterName() error {
	var problems []error
	problem := func(reason string) {
		problems = append(problems, fmt.Errorf("target.clusterName: %q: %s", cfg.ClusterName, reason))
	}
	known := []string{"{service}", "{namespace}", "{port}", "{portName}"}
	used := regexp.MustCompile(`\{[^}]*\}`).FindAllString(cfg.ClusterName, -1)
	for _, name := range used {
		if !slices.Contains(known, name) {
			problem("unknown placeholder " + name + ": there are " + strings.Join(known, ", "))
		}
	}
	if cfg.Subsets && cfg.ClusterName != DefaultClusterName {
		problem("mesh.subsets needs Istio's names of clusters, " + DefaultClusterName)
	}
	if !slices.Contains(used, "{service}") {
		problem("needs {service}, or all services would have one name")
	}
	if cfg.mostPorts() > 1 && !slices.Contains(used, "{port}") && !slices.Contains(used, "{portName}") {
		problem("needs {port} or {portName}, or the ports of a service would have one name")
	}
	return errors.Join(problems...)
}

func (cfg Config) namespace(i int) string { return cfg.NamespacePrefix + "-" + strconv.Itoa(i) }

// nodes returns about one node per hundred pods, spread over the zones.
func (cfg Config) nodes() []node {
	pods := cfg.Proxies + cfg.endpoints()
	out := make([]node, max(minNodes, (pods+podsPerNode-1)/podsPerNode))
	for i := range out {
		out[i] = node{
			name: fmt.Sprintf("%s-node-%d", cfg.NamespacePrefix, i),
			ip:   fmt.Sprintf("172.%d.%d.%d", 16+(i>>16)&0xf, (i>>8)&0xff, i&0xff),
			zone: fmt.Sprintf("%s-%c", region, 'a'+i%zones),
		}
	}
	return out
}

func (n node) object(labels map[string]string) *corev1.Node {
	out := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: maps.Clone(labels)},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.ip}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	out.Labels[corev1.LabelTopologyZone] = n.zone
	out.Labels[corev1.LabelTopologyRegion] = region
	out.Labels[corev1.LabelHostname] = n.name
	return out
}

// addFleet makes one service per namespace, with the proxies as their pods in turn.
func (m *Mesh) addFleet(cfg Config, sh *shared) error {
	for i := range cfg.Namespaces {
		name := "fleet-" + strconv.Itoa(i)
		s := newService(sh, m.next, cfg.namespace(i), name, cfg.ClusterName, cfg.Ports)
		s.selector = map[string]string{"app": name}
		s.hidden = true
		m.Fleet = append(m.Fleet, s)
		m.byKey[s.Key()] = s
	}
	for i := range cfg.Proxies {
		pod, err := m.fill(m.Fleet[i%cfg.Namespaces])
		if err != nil {
			return err
		}
		m.Proxies = append(m.Proxies, pod)
	}
	return nil
}

// addServices makes the services that churn changes.
func (m *Mesh) addServices(cfg Config, sh *shared) error {
	for i, l := range cfg.layout(cfg.Seed) {
		s := newService(sh, m.next, cfg.namespace(i%cfg.Namespaces), "svc-"+strconv.Itoa(i), cfg.ClusterName, l.ports)
		s.headless, s.number, s.class = l.headless, i, l.class
		for range l.endpoints {
			if _, err := m.fill(s); err != nil {
				return err
			}
		}
		m.Services = append(m.Services, s)
		m.byKey[s.Key()] = s
	}
	return nil
}

// addScopes makes a Sidecar for each namespace that lets its proxies see the services of
// the same namespace alone.
func (m *Mesh) addScopes(sh *shared) {
	for _, ns := range m.Namespaces {
		b := configBuilder{kind: Sidecar, service: &Service{shared: sh, namespace: ns.Name}, id: "scope"}
		m.Configs = append(m.Configs, b.config(object{
			"egress": []any{object{"hosts": []any{"./*"}}},
		}))
	}
}

// addConfigs makes the config objects that the spec wants from the start.
func (m *Mesh) addConfigs(spec Spec) error {
	m.settled = make(map[ConfigKind]map[string]bool)
	for kind, n := range map[ConfigKind]int{VirtualService: spec.VirtualServices, DestinationRule: spec.DestinationRules} {
		m.settled[kind] = make(map[string]bool)
		for _, s := range m.Services {
			if n > 0 && !s.headless {
				n--
				m.settled[kind][s.Key()], s.configured = true, true
				s.ruled = s.ruled || kind == DestinationRule
				s.subsets = s.ruled && spec.Subsets
			}
		}
	}
	for _, kind := range ConfigKinds() {
		for _, s := range m.Services {
			if !m.settled[kind][s.Key()] {
				continue
			}
			c, err := m.ConfigObject(kind, s, 0)
			if err != nil {
				return err
			}
			m.Configs = append(m.Configs, c)
		}
	}
	return nil
}

// fill adds one fresh ready pod to the service.
func (m *Mesh) fill(s *Service) (Pod, error) {
	pod, err := s.NewPod(m.NextPod())
	if err != nil {
		return Pod{}, err
	}
	last := len(s.slices) - 1
	if len(s.slices[last].endpoints) == maxEndpointsPerSlice {
		last++
	}
	_, err = s.Add(last, Ready, pod)
	return pod, err
}

// NextPod returns the number of the next pod to be made, which is above that of every
// pod that was ever added to a service of the mesh.
func (m *Mesh) NextPod() int { return int(m.next.Load()) }

// Service returns the service with this key, "namespace/name", or nil.
func (m *Mesh) Service(key string) *Service { return m.byKey[key] }

// All yields every service: the fleet's, then those that churn changes.
func (m *Mesh) All() iter.Seq[*Service] {
	return func(yield func(*Service) bool) {
		for _, s := range slices.Concat(m.Fleet, m.Services) {
			if !yield(s) {
				return
			}
		}
	}
}

// ForgetFleet drops the models of the fleet's services, which are not needed once
// their objects are made: with a large fleet they are most of the mesh. Proxies stay.
func (m *Mesh) ForgetFleet() {
	for _, s := range m.Fleet {
		delete(m.byKey, s.Key())
	}
	m.Fleet = nil
}

// Objects yields every object in the order in which to create them: namespaces,
// nodes, services, service accounts, pods, slices. The status of nodes and pods
// is filled in, and has to be written by itself on an API server that treats it
// as a subresource.
func (m *Mesh) Objects() iter.Seq[runtime.Object] {
	return func(yield func(runtime.Object) bool) {
		_ = all(yield, m.Namespaces) && all(yield, m.Nodes) &&
			each(yield, m, func(s *Service) []*corev1.Service { return onlyIf(s.Exists(), s.Object) }) &&
			each(yield, m, func(s *Service) []*corev1.ServiceAccount { return onlyIf(s.Exists() || !s.lone, s.Account) }) &&
			each(yield, m, (*Service).Pods) &&
			each(yield, m, (*Service).Slices)
	}
}

// onlyIf makes one object, or none.
func onlyIf[T runtime.Object](wanted bool, object func() T) []T {
	if !wanted {
		return nil
	}
	return []T{object()}
}

func all[T runtime.Object](yield func(runtime.Object) bool, objects []T) bool {
	for _, o := range objects {
		if !yield(o) {
			return false
		}
	}
	return true
}

// each yields some objects of every service, made one service at a time.
func each[T runtime.Object](yield func(runtime.Object) bool, m *Mesh, objects func(*Service) []T) bool {
	for s := range m.All() {
		if !all(yield, objects(s)) {
			return false
		}
	}
	return true
}
