package store

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// Delete deletes an object, or marks it as terminating when a finalizer or a
// pod's grace period holds it. Gone says which.
func (s *Store) Delete(res *kinds.Resource, key object.Key, opts metav1.DeleteOptions) (rev *object.Revision, gone bool, err error) {
	for {
		old, err := s.Get(res, key)
		if err != nil {
			return nil, false, err
		}
		if err := checkPreconditions(res, old, opts.Preconditions); err != nil {
			return nil, false, err
		}
		rev, gone, err := s.deleteOnce(res, old, opts)
		if errors.Is(err, errChanged) {
			continue
		}
		return rev, gone, err
	}
}

func (s *Store) deleteOnce(res *kinds.Resource, old *object.Revision, opts metav1.DeleteOptions) (rev *object.Revision, gone bool, err error) {
	m, grace, dryRun := old.Meta(), gracePeriod(old.Object(), opts), len(opts.DryRun) > 0
	if grace == 0 && len(m.GetFinalizers()) == 0 {
		if dryRun {
			return old, true, nil
		}
		rev, err = s.deleteNow(res, old)
		return rev, true, err
	}
	have := m.GetDeletionGracePeriodSeconds()
	if dryRun || m.GetDeletionTimestamp() != nil && have != nil && *have <= grace {
		return old, false, nil
	}
	rev, err = s.markTerminating(res, old, grace)
	return rev, false, err
}

// markTerminating sets the time at which the object is to go.
func (s *Store) markTerminating(res *kinds.Resource, old *object.Revision, grace int64) (*object.Revision, error) {
	obj := object.ShallowCopy(old.Object())
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	when := metav1.NewTime(metav1.Now().Rfc3339Copy().Add(time.Duration(grace) * time.Second))
	m.SetDeletionTimestamp(&when)
	m.SetDeletionGracePeriodSeconds(&grace)
	if m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	if ns, ok := obj.(*corev1.Namespace); ok {
		ns.Status.Phase = corev1.NamespaceTerminating
	}
	next, err := object.New(res.Storage, obj)
	if err != nil {
		return nil, err
	}
	return next, s.commit(res, old, next, nil)
}

// deleteNow deletes an object for good, and before it what it contains.
func (s *Store) deleteNow(res *kinds.Resource, old *object.Revision) (*object.Revision, error) {
	switch res.GroupResource() {
	case corev1.Resource("namespaces"):
		return s.deleteNamespace(res, old)
	case kinds.Definitions():
		if err := s.deleteCustom(old.Object()); err != nil {
			return nil, err
		}
	}
	return s.commitDelete(res, old)
}

// deleteNamespace does what the namespace controller does: it marks the
// namespace, empties it and deletes it.
func (s *Store) deleteNamespace(res *kinds.Resource, old *object.Revision) (*object.Revision, error) {
	if old.Meta().GetDeletionTimestamp() == nil {
		var err error
		if old, err = s.markTerminating(res, old, 0); err != nil {
			return nil, err
		}
	}
	for _, r := range s.kinds.All() {
		if !r.Namespaced {
			continue
		}
		if err := s.deleteAll(r, old.Key.Name); err != nil {
			return nil, err
		}
	}
	return s.commitDelete(res, old)
}

// deleteCustom deletes the objects of a CustomResourceDefinition and stops
// serving them.
func (s *Store) deleteCustom(obj runtime.Object) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	gr, versions, err := kinds.FromDefinition(u)
	if err != nil {
		return err
	}
	for _, r := range versions {
		if err := s.deleteAll(r, ""); err != nil {
			return err
		}
	}
	s.kinds.Replace(gr)
	return nil
}

// deleteAll deletes the objects of a resource in one namespace, or all of them
// for "", whatever finalizers hold them.
func (s *Store) deleteAll(res *kinds.Resource, namespace string) error {
	s.mu.RLock()
	revisions := s.tableLocked(res).selectLocked(allIn(namespace))
	s.mu.RUnlock()
	for _, rev := range revisions {
		for rev != nil {
			_, err := s.commitDelete(res, rev)
			if err == nil {
				break
			}
			if !errors.Is(err, errChanged) {
				return err
			}
			rev = s.lookup(res, rev.Key)
		}
	}
	return nil
}

// DeleteCollection deletes the matching objects, and returns their last states
// and the version afterwards.
func (s *Store) DeleteCollection(res *kinds.Resource, namespace string, list metav1.ListOptions, opts metav1.DeleteOptions) ([]*object.Revision, uint64, error) {
	revisions, _, err := s.List(res, namespace, list)
	if err != nil {
		return nil, 0, err
	}
	out := make([]*object.Revision, 0, len(revisions))
	for _, rev := range revisions {
		last, _, err := s.Delete(res, rev.Key, opts)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		out = append(out, last)
	}
	return out, s.version.Load(), nil
}

func checkPreconditions(res *kinds.Resource, old *object.Revision, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	kind := schema.GroupResource{Group: res.GVK.Group, Resource: res.GVK.Kind} // Kubernetes names the kind here.
	if have := old.Meta().GetUID(); p.UID != nil && *p.UID != have {
		return apierrors.NewConflict(kind, old.Key.Name, fmt.Errorf("the UID in the precondition (%s) does not match "+
			"the UID in record (%s). The object might have been deleted and then recreated", *p.UID, have))
	}
	if have := old.Meta().GetResourceVersion(); p.ResourceVersion != nil && *p.ResourceVersion != have {
		return apierrors.NewConflict(kind, old.Key.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match "+
			"the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, have))
	}
	return nil
}

// gracePeriod is how long, in seconds, the object stays after a delete: only
// a pod that runs on a node stays, until its kubelet deletes it with 0.
func gracePeriod(obj runtime.Object, opts metav1.DeleteOptions) int64 {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	var period int64
	switch {
	case opts.GracePeriodSeconds != nil:
		period = *opts.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		period = *pod.Spec.TerminationGracePeriodSeconds
	}
	if period < 0 {
		return 1
	}
	return period
}

func graceOver(m metav1.Object) bool {
	grace := m.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}
