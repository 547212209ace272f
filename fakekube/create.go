package fakekube

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// writeOptions are the options common to the writing verbs.
type writeOptions struct {
	dryRun  bool   // do everything but store
	manager string // field manager, for objects that were applied
}

const (
	generatedSuffix   = 5  // length of the random end of a generated name
	generatedBase     = 58 // what is kept of generateName: 63 in all
	generatedAttempts = 8  // names tried before AlreadyExists
)

// create stores a new object, which it takes over. Namespace is the
// request's, "" for kinds without.
func (s *Store) create(res *resource, namespace string, obj runtime.Object, opts writeOptions) (*record, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := checkNamespace(m, res, namespace); err != nil {
		return nil, err
	}
	if m.GetResourceVersion() != "" {
		return nil, statusError(500, "", "resourceVersion should not be set on objects to be created")
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
		rec, err := s.createNamed(res, obj, m, opts)
		if generate && apierrors.IsAlreadyExists(err) && attempt < generatedAttempts {
			continue
		}
		return rec, err
	}
}

func (s *Store) createNamed(res *resource, obj runtime.Object, m metav1.Object, opts writeOptions) (*record, error) {
	m.SetUID(uuid.NewUUID())
	m.SetCreationTimestamp(nowSeconds())
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetSelfLink("")
	m.SetGeneration(0)
	if res.generation {
		m.SetGeneration(1)
	}
	if _, isNode := obj.(*corev1.Node); res.status && !isNode {
		dropStatus(obj) // A kubelet registers its node with the status.
	}
	if res != res.storage {
		obj = convert(obj, res.storage)
		var err error
		if m, err = meta.Accessor(obj); err != nil {
			return nil, err
		}
	}
	setTypeMeta(obj, res.storage)
	setDefaults(obj)
	prepareCreate(obj)
	if err := validateCreate(res, obj, m); err != nil {
		return nil, err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok && res.groupResource() == crdResource() {
		if err := establish(u); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	return s.insert(res, obj, m, opts)
}

// insert stores a finished new object.
func (s *Store) insert(res *resource, obj runtime.Object, m metav1.Object, opts writeOptions) (*record, error) {
	k := key{m.GetNamespace(), m.GetName()}
	if s.lookup(res.table, k) != nil {
		return nil, apierrors.NewAlreadyExists(res.groupResource(), k.name)
	}
	svc, isService := obj.(*corev1.Service)
	if isService {
		if err := s.assignAddress(svc); err != nil {
			return nil, err
		}
	}
	raw, err := encodeRaw(obj, m)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if opts.dryRun {
		if isService {
			s.releaseAddress(svc)
		}
		return newRecord(k, obj, raw, 0), nil
	}
	rec, err := s.commit(res, k, nil, obj, raw, func() error { return s.requireNamespaceLocked(res, k.namespace) })
	if err != nil && isService {
		s.releaseAddress(svc)
	}
	if errors.Is(err, errChanged) {
		return nil, apierrors.NewAlreadyExists(res.groupResource(), k.name)
	}
	if err == nil {
		err = s.afterWrite(res, rec)
	}
	return rec, err
}

// checkNamespace gives the object the request's namespace.
func checkNamespace(m metav1.Object, res *resource, namespace string) error {
	if !res.namespaced {
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

func (s *Store) requireNamespace(res *resource, namespace string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.requireNamespaceLocked(res, namespace)
}

// requireNamespaceLocked refuses objects in a namespace that is missing or
// being deleted.
func (s *Store) requireNamespaceLocked(res *resource, namespace string) error {
	if !res.namespaced {
		return nil
	}
	namespaces := corev1.Resource("namespaces")
	rec := s.tables[namespaces].objects[key{name: namespace}]
	if rec == nil {
		return apierrors.NewNotFound(namespaces, namespace)
	}
	if rec.metadata().GetDeletionTimestamp() == nil {
		return nil
	}
	err := apierrors.NewForbidden(res.groupResource(), "", fmt.Errorf(
		"unable to create new content in namespace %s because it is being terminated", namespace))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: corev1.NamespaceTerminatingCause, Message: "namespace " + namespace + " is being terminated",
		Field: "metadata.namespace",
	}}
	return err
}

// get returns an object's current state.
func (s *Store) get(res *resource, namespace, name string) (*record, error) {
	if rec := s.lookup(res.table, key{namespace, name}); rec != nil {
		return rec.opened(), nil
	}
	return nil, apierrors.NewNotFound(res.groupResource(), name)
}

// list returns the matching objects and the version at which they are all.
func (s *Store) list(res *resource, sel selection) (records []*record, version uint64) {
	s.reader(func(rv uint64) { records, version = s.selectLocked(res, sel), rv })
	return records, version
}

// checkUID refuses a write that is meant for another object of the same name.
func checkUID(res *resource, name string, given, have types.UID) error {
	if given == "" || given == have {
		return nil
	}
	return apierrors.NewConflict(res.groupResource(), name, fmt.Errorf(
		"precondition failed: UID in precondition: %v, UID in object meta: %v", given, have))
}
