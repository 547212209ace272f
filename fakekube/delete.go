package fakekube

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// remove deletes an object, or marks it as being deleted when a finalizer or
// a pod's grace period holds it. Gone says which.
func (s *Store) remove(res *resource, k key, opts metav1.DeleteOptions) (rec *record, gone bool, err error) {
	for {
		cur, err := s.get(res, k.namespace, k.name)
		if err != nil {
			return nil, false, err
		}
		if err := checkPreconditions(res, cur, opts.Preconditions); err != nil {
			return nil, false, err
		}
		rec, gone, err := s.removeOnce(res, cur, opts)
		if errors.Is(err, errChanged) {
			continue
		}
		return rec, gone, err
	}
}

func (s *Store) removeOnce(res *resource, cur *record, opts metav1.DeleteOptions) (rec *record, gone bool, err error) {
	grace := gracePeriod(cur.object(), opts)
	dryRun := len(opts.DryRun) > 0
	if grace == 0 && len(cur.metadata().GetFinalizers()) == 0 {
		if dryRun {
			return cur, true, nil
		}
		rec, err := s.finish(res, cur)
		return rec, true, err
	}
	if have := cur.metadata().GetDeletionGracePeriodSeconds(); cur.metadata().GetDeletionTimestamp() != nil && have != nil && *have <= grace {
		return cur, false, nil
	}
	if dryRun {
		return cur, false, nil
	}
	rec, err = s.markDeleted(res, cur, grace)
	return rec, false, err
}

// markDeleted sets the time at which the object is to go.
func (s *Store) markDeleted(res *resource, cur *record, grace int64) (*record, error) {
	obj := shallowCopy(cur.object())
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	when := metav1.Time{Time: nowSeconds().Add(time.Duration(grace) * time.Second)}
	m.SetDeletionTimestamp(&when)
	m.SetDeletionGracePeriodSeconds(&grace)
	if m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	if ns, ok := obj.(*corev1.Namespace); ok {
		ns.Status.Phase = corev1.NamespaceTerminating
	}
	raw, err := encodeRaw(obj, m)
	if err != nil {
		return nil, err
	}
	return s.commit(res, cur.key, cur, obj, raw, nil)
}

// finish removes an object for good, and before it what it contains.
func (s *Store) finish(res *resource, cur *record) (*record, error) {
	switch res.groupResource() {
	case corev1.Resource("namespaces"):
		return s.finishNamespace(res, cur)
	case crdResource():
		if err := s.dropCustom(cur); err != nil {
			return nil, err
		}
	}
	return s.commitDelete(res, cur)
}

// finishNamespace does what the namespace controller does: mark, empty, remove.
func (s *Store) finishNamespace(res *resource, cur *record) (*record, error) {
	marked := cur
	if cur.metadata().GetDeletionTimestamp() == nil {
		var err error
		if marked, err = s.markDeleted(res, cur, 0); err != nil {
			return nil, err
		}
	}
	emptied := map[*table]bool{}
	for _, r := range s.kinds.all() {
		if !r.namespaced || emptied[r.table] {
			continue
		}
		emptied[r.table] = true
		records, _ := s.list(r, selection{namespace: cur.key.name, labels: labels.Everything(), fields: fields.Everything(), view: r})
		for _, rec := range records {
			if err := s.force(r, rec.key); err != nil {
				return nil, err
			}
		}
	}
	return s.commitDelete(res, marked)
}

// force removes an object whatever holds it.
func (s *Store) force(res *resource, k key) error {
	for {
		cur := s.lookup(res.table, k)
		if cur == nil {
			return nil
		}
		if _, err := s.commitDelete(res, cur); !errors.Is(err, errChanged) {
			return err
		}
	}
}

// removeAll deletes the matching objects, and returns their last states.
func (s *Store) removeAll(res *resource, sel selection, opts metav1.DeleteOptions) ([]*record, uint64, error) {
	records, _ := s.list(res, sel)
	out := make([]*record, 0, len(records))
	for _, rec := range records {
		last, _, err := s.remove(res, rec.key, *opts.DeepCopy())
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

func checkPreconditions(res *resource, cur *record, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	kind := schema.GroupResource{Group: res.gvk.Group, Resource: res.gvk.Kind} // Kubernetes names the kind here.
	if have := cur.metadata().GetUID(); p.UID != nil && *p.UID != have {
		return apierrors.NewConflict(kind, cur.key.name, fmt.Errorf("the UID in the precondition (%s) does not match "+
			"the UID in record (%s). The object might have been deleted and then recreated", *p.UID, have))
	}
	if have := cur.metadata().GetResourceVersion(); p.ResourceVersion != nil && *p.ResourceVersion != have {
		return apierrors.NewConflict(kind, cur.key.name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match "+
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
