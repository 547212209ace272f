package harness

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/xdsbench/xdsbench/mesh"
)

// seedWorkers bounds the writes in flight while the mesh is created.
const seedWorkers = 16

// checkAccess asks the API server whether every kind the run writes may be
// created and deleted by this user.
func checkAccess(ctx context.Context, client kubernetes.Interface) error {
	return mayWrite(ctx, client, []schema.GroupResource{
		{Resource: "namespaces"},
		{Resource: "nodes"},
		{Resource: "services"},
		{Resource: "serviceaccounts"},
		{Resource: "pods"},
		{Resource: "endpointslices", Group: "discovery.k8s.io"},
	})
}

// mayWrite asks the API server whether this user may create and delete the resources.
func mayWrite(ctx context.Context, client kubernetes.Interface, resources []schema.GroupResource) error {
	var errs []error
	for _, gr := range resources {
		r := authorizationv1.ResourceAttributes{Group: gr.Group, Resource: gr.Resource}
		for _, verb := range []string{"create", "delete"} {
			r.Verb = verb
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &r}}
			answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("asking what its user may do: %w", err)
			}
			if !answer.Status.Allowed {
				errs = append(errs, fmt.Errorf("its user may not %s %s on this cluster: grant it, or use another user", verb, r.Resource))
			}
		}
	}
	return errors.Join(errs...)
}

// seed writes the whole mesh, kind after kind, since slices refer to pods and
// pods to namespaces. It calls progress after each kind.
func seed(ctx context.Context, client kubernetes.Interface, m *mesh.Mesh, progress func(done int)) error {
	var batch []runtime.Object
	done := 0
	flush := func() error {
		err := createAll(ctx, batch, func(ctx context.Context, o runtime.Object) error { return create(ctx, client, o) })
		done += len(batch)
		batch = batch[:0]
		progress(done)
		return err
	}
	for o := range m.Objects() {
		if len(batch) > 0 && reflect.TypeOf(o) != reflect.TypeOf(batch[0]) {
			if err := flush(); err != nil {
				return err
			}
		}
		batch = append(batch, o)
	}
	return flush()
}

// createAll writes the objects of one batch, which do not depend on each other.
func createAll[T any](ctx context.Context, batch []T, create func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan T)
	var workers sync.WaitGroup
	for range seedWorkers {
		workers.Go(func() {
			for o := range work {
				if ctx.Err() != nil {
					continue
				}
				if err := create(ctx, o); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, o := range batch {
		select {
		case work <- o:
		case <-ctx.Done():
		}
	}
	close(work)
	workers.Wait()
	return context.Cause(ctx)
}

func create(ctx context.Context, client kubernetes.Interface, object runtime.Object) error {
	opts := metav1.CreateOptions{}
	var err error
	switch o := object.(type) {
	case *corev1.Namespace:
		_, err = client.CoreV1().Namespaces().Create(ctx, o, opts)
	case *corev1.Node:
		err = createNode(ctx, client, o)
	case *corev1.Service:
		_, err = client.CoreV1().Services(o.Namespace).Create(ctx, o, opts)
	case *corev1.ServiceAccount:
		_, err = client.CoreV1().ServiceAccounts(o.Namespace).Create(ctx, o, opts)
	case *corev1.Pod:
		err = createPod(ctx, client, o)
	case *discoveryv1.EndpointSlice:
		_, err = client.DiscoveryV1().EndpointSlices(o.Namespace).Create(ctx, o, opts)
	default:
		err = fmt.Errorf("the mesh holds a %T, which the harness cannot create", object)
	}
	return explainExisting(err)
}

// explainExisting says what to do about an object that is there already.
func explainExisting(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%w: an earlier run left it, or somebody else's object has this name; `xdsbench clean` removes what runs left", err)
	}
	return err
}

// seedConfigs writes the config objects of the mesh.
func seedConfigs(ctx context.Context, client dynamic.Interface, configs []mesh.ConfigObject) error {
	return createAll(ctx, configs, func(ctx context.Context, c mesh.ConfigObject) error {
		name := c.Object.GetKind() + " " + c.Object.GetNamespace() + "/" + c.Object.GetName()
		_, err := client.Resource(c.Resource).Namespace(c.Object.GetNamespace()).Create(ctx, c.Object, metav1.CreateOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s: %w: the API server does not know this kind: install its CustomResourceDefinition first", name, err)
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// createPod writes the pod and then its status, which a create drops.
func createPod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	created, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	created.Status = pod.Status
	_, err = client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, created, metav1.UpdateOptions{})
	return err
}

// createNode writes the node and then its status.
func createNode(ctx context.Context, client kubernetes.Interface, node *corev1.Node) error {
	created, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	created.Status = node.Status
	_, err = client.CoreV1().Nodes().UpdateStatus(ctx, created, metav1.UpdateOptions{})
	return err
}
