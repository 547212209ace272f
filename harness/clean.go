package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/xdsbench/xdsbench/mesh"
)

// namespaceWait is how long a deleted namespace may take to go.
const namespaceWait = 2 * time.Minute

// controllerGrace is how long a namespace controller has to show itself in a
// deleted namespace's conditions before the namespace counts as left alone.
const controllerGrace = 3 * time.Second

// cleanWorkers bounds the namespaces that are emptied at once.
const cleanWorkers = 8

// ErrLeftBehind marks errors of what could not be removed from an API server.
var ErrLeftBehind = errors.New("left on the API server")

// Clean removes everything that runs created on a cluster and returns how many
// namespaces, nodes and other cluster-scoped objects that were. An empty runID means all
// runs. Only objects that carry the project's labels are touched. Objects of kinds that
// every mesh has not are found through discovery; a nil dyn leaves them. It ends at the first request that the
// API server does not answer; its error names what is left then.
func Clean(ctx context.Context, client kubernetes.Interface, dyn dynamic.Interface, runID string) (int, error) {
	selector := mesh.ManagedByLabel + "=" + mesh.ManagedByValue
	if runID != "" {
		selector += "," + mesh.RunLabel + "=" + runID
	}
	list := metav1.ListOptions{LabelSelector: selector}
	namespaces, err := client.CoreV1().Namespaces().List(ctx, list)
	if err != nil {
		return 0, fmt.Errorf("%w: perhaps all namespaces and nodes with the labels %s: list namespaces: %w", ErrLeftBehind, selector, err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, list)
	if err != nil {
		return 0, fmt.Errorf("%w: perhaps all namespaces and nodes with the labels %s: list nodes: %w", ErrLeftBehind, selector, err)
	}
	c := &cleaning{client: client, dynamic: dyn, list: list, left: make(map[string]bool)}
	for i := range namespaces.Items {
		c.namespaces = append(c.namespaces, namespaces.Items[i].Name)
		c.left["namespace "+namespaces.Items[i].Name] = true
	}
	for i := range nodes.Items {
		c.nodes = append(c.nodes, nodes.Items[i].Name)
		c.left["node "+nodes.Items[i].Name] = true
	}
	err = c.run(ctx)
	if len(c.left) > 0 {
		err = fmt.Errorf("%w: %s: %w", ErrLeftBehind, some(slices.Sorted(maps.Keys(c.left))), err)
	}
	return c.removed, err
}

// cleaning is one clean-up.
type cleaning struct {
	client            kubernetes.Interface
	dynamic           dynamic.Interface // nil leaves custom objects
	list              metav1.ListOptions
	namespaces, nodes []string

	mu      sync.Mutex // guards the fields below
	left    map[string]bool
	removed int
}

// run removes objects of other kinds, empties and deletes the namespaces, deletes the nodes, and waits until the
// namespaces are gone.
func (c *cleaning) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	customErr := c.removeCustom(ctx)
	if errors.Is(customErr, ErrNoAnswer) {
		return customErr
	}
	each := func(names []string, do func(name string) error) error {
		var wait sync.WaitGroup
		errs := make([]error, len(names))
		for worker := range cleanWorkers {
			wait.Go(func() {
				for i := worker; i < len(names) && ctx.Err() == nil; i += cleanWorkers {
					if errs[i] = do(names[i]); errors.Is(errs[i], ErrNoAnswer) {
						cancel(errs[i]) // the other requests would wait as long
					}
				}
			})
		}
		wait.Wait()
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return errors.Join(errs...)
	}
	emptyErr := each(c.namespaces, func(name string) error { return emptyNamespace(ctx, c.client, name, c.list) })
	nodesErr := each(c.nodes, func(name string) error {
		return c.gone("node "+name, ignoreNotFound(c.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})))
	})
	deleted := time.Now()
	goneErr := each(c.namespaces, func(name string) error {
		return c.gone("namespace "+name, awaitGone(ctx, c.client, name, deleted))
	})
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errors.Join(customErr, emptyErr, nodesErr, goneErr)
}

// gone notes that something was removed, unless err says why not.
func (c *cleaning) gone(what string, err error) error {
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.left, what)
		c.removed++
	}
	return err
}

// some lists names, not too many of them.
func some(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// emptyNamespace deletes a namespace's labelled contents and then asks for the
// namespace itself to go. Pods go at once: no kubelet would ever confirm them.
func emptyNamespace(ctx context.Context, client kubernetes.Interface, name string, list metav1.ListOptions) error {
	now := int64(0)
	return inTurn(
		func() error { return deleteServices(ctx, client, name, list) },
		func() error {
			return client.DiscoveryV1().EndpointSlices(name).DeleteCollection(ctx, metav1.DeleteOptions{}, list)
		},
		func() error {
			return client.CoreV1().Pods(name).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, list)
		},
		func() error {
			return client.CoreV1().ServiceAccounts(name).DeleteCollection(ctx, metav1.DeleteOptions{}, list)
		},
		func() error {
			return ignoreNotFound(client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}))
		})
}

// inTurn makes calls one after the other, and joins their errors. It ends at the first
// that is not answered, since the next would not be either.
func inTurn(calls ...func() error) error {
	var errs []error
	for _, call := range calls {
		err := call()
		if errors.Is(err, ErrNoAnswer) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// deleteServices deletes one by one: client-go has no collection call for them.
func deleteServices(ctx context.Context, client kubernetes.Interface, namespace string, list metav1.ListOptions) error {
	services, err := client.CoreV1().Services(namespace).List(ctx, list)
	if err != nil {
		return fmt.Errorf("namespace %s: list services: %w", namespace, err)
	}
	var calls []func() error
	for i := range services.Items {
		calls = append(calls, func() error {
			return ignoreNotFound(client.CoreV1().Services(namespace).Delete(ctx, services.Items[i].Name, metav1.DeleteOptions{}))
		})
	}
	return inTurn(calls...)
}

// awaitGone waits until a namespace is gone that was deleted at a time. On a bare API
// server there is no namespace controller to finish the deletion: when none shows
// itself, the namespace, which this project created and has emptied, is finalized here.
func awaitGone(ctx context.Context, client kubernetes.Interface, name string, deleted time.Time) error {
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
		waited := time.Since(deleted)
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
			return fmt.Errorf("namespace %s: its deletion had not ended: %w", name, context.Cause(ctx))
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
