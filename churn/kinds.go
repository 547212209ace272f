package churn

// Kinds of operation that other packages name; Kinds lists all.
const (
	PodDelete     = "pod-delete"
	PodAdd        = "pod-add"
	RollingUpdate = "rolling-update"
	ReadinessFlap = "readiness-flap"
	ScaleUp       = "scale-up"
	ScaleDown     = "scale-down"
)

const (
	podCrash        = "pod-crash"
	scaleTo         = "scale-to"
	nodeDrain       = "node-drain"
	nodeLoss        = "node-loss"
	zoneLoss        = "zone-loss"
	firstEndpoint   = "first-endpoint"
	lastEndpoint    = "last-endpoint"
	noopUpdate      = "noop-update"
	sliceRepack     = "slice-repack"
	endpointPort    = "endpoint-port"
	targetPort      = "target-port"
	serviceAdd      = "service-add"
	serviceRemove   = "service-remove"
	portAdd         = "port-add"
	portRemove      = "port-remove"
	namespaceAdd    = "namespace-add"
	namespaceRemove = "namespace-remove"
	headlessPod     = "headless-pod"
	defaultPods     = 3
	defaultSurge    = 1
	maxPods         = 100 // what one slice holds: an operation on several pods is one write to one slice
	writesPerPod    = 4   // what a rollout makes for each pod
	maxPortsAdded   = 16  // what a service comes to have by port-add
)

const noneToPrepare = "each needs a service that nothing else changes, and half of them stay as they are: raise mesh.services, lower the rate, or set hold"

// Kinds lists the kinds of operation.
func Kinds() []string {
	return append([]string{
		PodDelete, podCrash, PodAdd, RollingUpdate, ScaleUp, ScaleDown, scaleTo, ReadinessFlap,
		nodeDrain, nodeLoss, zoneLoss, firstEndpoint, lastEndpoint,
		noopUpdate, sliceRepack, endpointPort, targetPort, portAdd, portRemove,
		serviceAdd, serviceRemove, namespaceAdd, namespaceRemove, headlessPod,
	}, objectKinds()...)
}

// Needs is what a kind of operation needs the control plane to know, beyond services and
// their endpoints.
type Needs uint8

// What kinds need.
const (
	NeedsNothing Needs = iota
	// NeedsListeners: a listener for each pod of a headless service, as Istio has them.
	NeedsListeners
	// NeedsConfig: Istio's config objects.
	NeedsConfig
)

// NeedsOf returns what a kind needs.
func NeedsOf(kind string) Needs {
	if _, _, ok := ofObject(kind); ok {
		return NeedsConfig
	}
	if kind == headlessPod {
		return NeedsListeners
	}
	return NeedsNothing
}

// trait is what the planner has to know of a kind.
type trait struct {
	// writes is how many writes one operation makes; of a rollout, per pod. Kinds of which
	// it depends on the services say how many once they are planned.
	writes int
	// needs is how many free pods the service must have.
	needs int
	// plan plans an operation and returns how many writes it makes; 0: none is possible.
	plan func(*planner, *entry) int
	// lacks says why an operation may be impossible, and what to do, where it is not that
	// no service can spare a pod.
	lacks string
}

func traitOf(kind string) trait { //nolint:cyclop,funlen // a table
	switch kind {
	case PodAdd:
		return trait{writes: 1, needs: 0, plan: (*planner).podAdd}
	case ScaleUp:
		return trait{writes: 1, needs: 0, plan: (*planner).podAdd}
	case podCrash:
		return trait{writes: 1, needs: 2, plan: (*planner).podCrash}
	case PodDelete, ScaleDown:
		return trait{writes: 2, needs: 2, plan: (*planner).podDelete}
	case ReadinessFlap:
		return trait{writes: 2, needs: 2, plan: (*planner).flap}
	case scaleTo:
		return trait{writes: 2, needs: 1, plan: (*planner).scaleTo}
	case RollingUpdate:
		return trait{writes: writesPerPod, needs: 1, plan: (*planner).deploy}
	case nodeDrain, nodeLoss, zoneLoss:
		return trait{writes: 2, needs: 2, plan: (*planner).place}
	case firstEndpoint:
		return trait{writes: 1, needs: 0, plan: (*planner).firstEndpoint, lacks: noneToPrepare}
	case lastEndpoint:
		return trait{writes: 2, needs: 1, plan: (*planner).lastEndpoint, lacks: noneToPrepare}
	case noopUpdate:
		return trait{writes: 1, needs: 0, plan: (*planner).noopUpdate}
	case sliceRepack:
		return trait{writes: 2, needs: 1, plan: (*planner).sliceRepack}
	case endpointPort:
		return trait{writes: 1, needs: 1, plan: (*planner).endpointPort}
	case targetPort:
		return trait{writes: 2, needs: 1, plan: (*planner).targetPort}
	case portAdd:
		return trait{writes: 2, plan: (*planner).portAdd, lacks: "every service has 16 ports: lower the rate"}
	case portRemove:
		return trait{writes: 2, plan: (*planner).portRemove, lacks: noneToPrepare}
	case serviceAdd:
		return trait{writes: 2, plan: (*planner).serviceAdd}
	case serviceRemove:
		return trait{writes: 1, plan: (*planner).serviceRemove, lacks: "no service was left that nothing else changes: raise mesh.services or lower the rate"}
	case namespaceAdd:
		return trait{writes: 3, plan: (*planner).namespaceAdd}
	case namespaceRemove:
		return trait{writes: 2, plan: (*planner).namespaceRemove}
	case headlessPod:
		return trait{writes: 2, plan: (*planner).headlessPod, lacks: "no service is headless: raise mesh.headless"}
	}
	if _, _, ok := ofObject(kind); !ok {
		return trait{}
	}
	return trait{writes: 1, plan: (*planner).changeObject, lacks: "each service, for some kinds each namespace, has one object of a kind at most: raise mesh.services and mesh.namespaces, or lower the rate"}
}
