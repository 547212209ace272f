package churn

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/mesh"
)

// change is what a step does: to the planner's copy of a service, and at its time to the
// service itself. Changes are plain values, so that plans can be compared.
type change interface {
	apply(m *mesh.Mesh, s *mesh.Service) (written, error)
	// needsService reports whether the change is to a service of the mesh.
	needsService() bool
}

// ofService is embedded in changes to services.
type ofService struct{}

func (ofService) needsService() bool { return true }

// written is what a change has made of the model.
type written struct {
	object
	states []event.Expected
}

// object is one object of the API server.
type object struct {
	// kind and key, "namespace/name", say which.
	kind, key string
	// want makes it as the model now has it; nil if it must not exist.
	want func() runtime.Object
}

func (o object) same(other object) bool { return o.kind == other.kind && o.key == other.key }

// of makes what an operation on a service has written.
func of(s *mesh.Service, done mesh.Change, err error) (written, error) {
	if err != nil {
		return written{}, err
	}
	if done.Slice == mesh.OfService {
		return written{object{"Service", s.Key(), func() runtime.Object {
			if !s.Exists() {
				return nil
			}
			return s.Object()
		}}, done.States}, nil
	}
	return written{object{"EndpointSlice", s.SliceKey(done.Slice), func() runtime.Object {
		if !s.Exists() {
			return nil
		}
		return s.Slice(done.Slice)
	}}, done.States}, nil
}

// adding puts fresh pods into a slice.
type adding struct {
	ofService

	slice     int
	condition mesh.Condition
	pods      []mesh.Pod
}

func (c adding) apply(_ *mesh.Mesh, s *mesh.Service) (written, error) {
	done, err := s.Add(c.slice, c.condition, c.pods...)
	return of(s, done, err)
}

// setting gives pods a condition.
type setting struct {
	ofService

	condition mesh.Condition
	pods      []string
}

func (c setting) apply(_ *mesh.Mesh, s *mesh.Service) (written, error) {
	done, err := s.Set(c.condition, c.pods...)
	return of(s, done, err)
}

// removing takes pods out.
type removing struct {
	ofService

	pods []string
}

func (c removing) apply(_ *mesh.Mesh, s *mesh.Service) (written, error) {
	done, err := s.Remove(c.pods...)
	return of(s, done, err)
}

// slicing is a change to one slice.
type slicing struct {
	ofService

	what   sliceChange
	slice  int
	number int32    // of setPort
	pods   []string // of copyPods and dropPods
}

type sliceChange uint8

const (
	touch sliceChange = iota
	copyPods
	dropPods
	setPort
	syncPorts
)

func (c slicing) apply(_ *mesh.Mesh, s *mesh.Service) (written, error) {
	var done mesh.Change
	var err error
	switch c.what {
	case touch:
		done, err = s.Touch(c.slice)
	case copyPods:
		done, err = s.Copy(c.slice, c.pods...)
	case dropPods:
		done, err = s.Drop(c.slice, c.pods...)
	case setPort:
		done, err = s.SetPort(c.slice, c.number)
	case syncPorts:
		done, err = s.Sync(c.slice)
	}
	return of(s, done, err)
}

// serving is a change to a Service.
type serving struct {
	ofService

	what   serviceChange
	number int32 // of retarget
}

type serviceChange uint8

const (
	createService serviceChange = iota
	deleteService
	addPort
	removePort
	retarget
)

func (c serving) apply(_ *mesh.Mesh, s *mesh.Service) (written, error) {
	var done mesh.Change
	var err error
	switch c.what {
	case createService:
		done, err = s.Create()
	case deleteService:
		done, err = s.Delete()
	case addPort:
		done, err = s.AddPort()
	case removePort:
		done, err = s.RemovePort()
	case retarget:
		done, err = s.Retarget(c.number)
	}
	return of(s, done, err)
}

// namespacing makes a namespace, or deletes it. No proxy can see it.
type namespacing struct {
	namespace string
	gone      bool
}

func (namespacing) needsService() bool { return true }

func (c namespacing) apply(_ *mesh.Mesh, s *mesh.Service) (written, error) {
	return written{object: object{"Namespace", c.namespace, func() runtime.Object {
		if c.gone {
			return nil
		}
		return s.NamespaceObject()
	}}}, nil
}
