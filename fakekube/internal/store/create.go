package store

import (
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// WriteOptions are the options common to the writing verbs.
type WriteOptions struct {
	DryRun       bool   // do everything but store
	FieldManager string // for objects that server-side apply has touched

	managersSet bool // the object comes with the right managedFields
}

const (
	generatedSuffix   = 5  // length of the random end of a generated name
	generatedBase     = 58 // what is kept of generateName: 63 in all
	generatedAttempts = 8  // names tried before AlreadyExists
)

// Create stores a new object, which it takes over. Namespace is the request's,
// "" for cluster-scoped kinds.
func (s *Store) Create(res *kinds.Resource, namespace string, obj runtime.Object, opts WriteOptions) (*object.Revision, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := setNamespace(m, res, namespace); err != nil {
		return nil, err
	}
	if m.GetResourceVersion() != "" {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "resourceVersion should not be set on objects to be created",
		}}
	}
	if err := s.requireNamespace(res, namespace); err != nil {
		return nil, err
	}
	generate := m.GetName() == "" && m.GetGenerateName() != ""
	for attempt := 1; ; attempt++ {
		if generate {
			base := m.GetGenerateName()
			m.SetName(base[:min(len(base), generatedBase)] + rand.String(generatedSuffix))
		}
		rev, err := s.createNamed(res, obj, m, opts)
		if generate && apierrors.IsAlreadyExists(err) && attempt < generatedAttempts {
			continue
		}
		return rev, err
	}
}

func (s *Store) createNamed(res *kinds.Resource, obj runtime.Object, m metav1.Object, opts WriteOptions) (*object.Revision, error) {
	m.SetUID(uuid.NewUUID())
	m.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetSelfLink("")
	m.SetGeneration(0)
	if res.Generation {
		m.SetGeneration(1)
	}
	if _, isNode := obj.(*corev1.Node); res.Status && !isNode {
		setStatus(obj, nil) // A kubelet registers its node with the status.
	}
	obj = object.ToStorage(obj, res)
	setDefaults(obj)
	prepareCreate(obj)
	if err := validateCreate(res, obj, m); err != nil {
		return nil, err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok && res.GroupResource() == kinds.Definitions() {
		if err := kinds.EstablishDefinition(u); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	key := object.Key{Namespace: m.GetNamespace(), Name: m.GetName()}
	if s.lookup(res, key) != nil {
		return nil, apierrors.NewAlreadyExists(res.GroupResource(), key.Name)
	}
	svc, isService := obj.(*corev1.Service)
	if isService {
		if err := s.assignClusterIP(svc); err != nil {
			return nil, err
		}
	}
	rev, err := s.insert(res, obj, opts)
	if isService && (err != nil || opts.DryRun) {
		s.mu.Lock()
		s.clusterIPs.release(svc)
		s.mu.Unlock()
	}
	return rev, err
}

// insert stores a finished new object.
func (s *Store) insert(res *kinds.Resource, obj runtime.Object, opts WriteOptions) (*object.Revision, error) {
	rev, err := object.New(res.Storage, obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if opts.DryRun {
		return rev, nil
	}
	err = s.commit(res, nil, rev, func() error { return s.requireNamespaceLocked(res, rev.Key.Namespace) })
	if errors.Is(err, errChanged) {
		return nil, apierrors.NewAlreadyExists(res.GroupResource(), rev.Key.Name)
	}
	if err == nil && res.GroupResource() == kinds.Definitions() {
		err = s.serveDefinition(obj)
	}
	return rev, err
}

// setNamespace gives the object the request's namespace.
func setNamespace(m metav1.Object, res *kinds.Resource, namespace string) error {
	if !res.Namespaced {
		m.SetNamespace("")
		return nil
	}
	if m.GetNamespace() == "" {
		m.SetNamespace(namespace)
	}
	if m.GetNamespace() != namespace {
		return apierrors.NewBadRequest(
			"the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

func (s *Store) requireNamespace(res *kinds.Resource, namespace string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.requireNamespaceLocked(res, namespace)
}

// requireNamespaceLocked refuses objects in a namespace that is missing or
// being deleted.
func (s *Store) requireNamespaceLocked(res *kinds.Resource, namespace string) error {
	if !res.Namespaced {
		return nil
	}
	namespaces := corev1.Resource("namespaces")
	rev := s.tables[namespaces].objects[object.Key{Name: namespace}]
	if rev == nil {
		return apierrors.NewNotFound(namespaces, namespace)
	}
	if rev.Meta().GetDeletionTimestamp() == nil {
		return nil
	}
	err := apierrors.NewForbidden(res.GroupResource(), "", fmt.Errorf(
		"unable to create new content in namespace %s because it is being terminated", namespace))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: corev1.NamespaceTerminatingCause, Message: "namespace " + namespace + " is being terminated",
		Field: "metadata.namespace",
	}}
	return err
}
