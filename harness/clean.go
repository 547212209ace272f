package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/xdsbench/xdsbench/mesh"
)

// namespaceWait is how long a deleted namespace may take to go.
const namespaceWait = 2 * time.Minute

// controllerGrace is how long a namespace controller has to show itself in a
// deleted namespace's conditions before the namespace counts as left alone.
const controllerGrace = 3 * time.Second

// Clean removes everything that runs created on a cluster and returns how many
// namespaces and nodes that were. An empty runID means all runs. Only objects
// that carry the project's labels are touched.
func Clean(ctx context.Context, client kubernetes.Interface, runID string) (int, error) {
	selector := mesh.ManagedByLabel + "=" + mesh.ManagedByValue
	if runID != "" {
		selector += "," + mesh.RunLabel + "=" + runID
	}
	list := metav1.ListOptions{LabelSelector: selector}
	namespaces, err := client.CoreV1().Namespaces().List(ctx, list)
	if err != nil {
		return 0, fmt.Errorf("list namespaces: %w", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, list)
	if err != nil {
		return 0, fmt.Errorf("list nodes: %w", err)
	}
	var errs []error
	for i := range namespaces.Items {
		errs = append(errs, emptyNamespace(ctx, client, namespaces.Items[i].Name, list))
	}
	for i := range nodes.Items {
		errs = append(errs, ignoreNotFound(client.CoreV1().Nodes().Delete(ctx, nodes.Items[i].Name, metav1.DeleteOptions{})))
	}
	for i := range namespaces.Items {
		errs = append(errs, awaitGone(ctx, client, namespaces.Items[i].Name))
	}
	return len(namespaces.Items) + len(nodes.Items), errors.Join(errs...)
}

// emptyNamespace deletes a namespace's labelled contents and then asks for the
// namespace itself to go. Pods go at once: no kubelet would ever confirm them.
func emptyNamespace(ctx context.Context, client kubernetes.Interface, name string, list metav1.ListOptions) error {
	now := int64(0)
	atOnce := metav1.DeleteOptions{GracePeriodSeconds: &now}
	return errors.Join(
		client.DiscoveryV1().EndpointSlices(name).DeleteCollection(ctx, metav1.DeleteOptions{}, list),
		deleteServices(ctx, client, name, list),
		client.CoreV1().Pods(name).DeleteCollection(ctx, atOnce, list),
		client.CoreV1().ServiceAccounts(name).DeleteCollection(ctx, metav1.DeleteOptions{}, list),
		ignoreNotFound(client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})))
}

// deleteServices deletes one by one: client-go has no collection call for them.
func deleteServices(ctx context.Context, client kubernetes.Interface, namespace string, list metav1.ListOptions) error {
	services, err := client.CoreV1().Services(namespace).List(ctx, list)
	if err != nil {
		return fmt.Errorf("namespace %s: list services: %w", namespace, err)
	}
	var errs []error
	for i := range services.Items {
		errs = append(errs, ignoreNotFound(client.CoreV1().Services(namespace).Delete(ctx, services.Items[i].Name, metav1.DeleteOptions{})))
	}
	return errors.Join(errs...)
}

// awaitGone waits until a deleted namespace is gone. On a bare API server there
// is no namespace controller to finish the deletion: when none shows itself,
// the namespace, which this project created and has emptied, is finalized here.
func awaitGone(ctx context.Context, client kubernetes.Interface, name string) error {
	start := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		ns, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
		waited := time.Since(start)
		if waited > namespaceWait {
			return fmt.Errorf("namespace %s: still there %s after its deletion: see `kubectl describe namespace %s`", name, waited.Round(time.Second), name)
		}
		if waited > controllerGrace && len(ns.Status.Conditions) == 0 {
			if err := finalize(ctx, client, ns); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("namespace %s: still there: %w; run `xdsbench clean`", name, ctx.Err())
		}
	}
}

func finalize(ctx context.Context, client kubernetes.Interface, ns *corev1.Namespace) error {
	ns.Spec.Finalizers = nil
	_, err := client.CoreV1().Namespaces().Finalize(ctx, ns, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("namespace %s: finalize: %w", ns.Name, err)
	}
	return nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
