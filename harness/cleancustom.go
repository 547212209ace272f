package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// removeCustom removes the objects of kinds that not every mesh has, and then the
// CustomResourceDefinitions.
func (c *cleaning) removeCustom(ctx context.Context) error {
	if c.dynamic == nil {
		return nil
	}
	kinds, err := c.otherKinds()
	if err != nil {
		return err
	}
	errs := make([]error, len(kinds))
	var wait sync.WaitGroup
	for worker := range cleanWorkers {
		wait.Go(func() {
			for i := worker; i < len(kinds) && ctx.Err() == nil; i += cleanWorkers {
				if errs[i] = c.removeKind(ctx, kinds[i]); errors.Is(errs[i], ErrNoAnswer) {
					return
				}
			}
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err // with objects of its kind left, no definition may go
	}
	return c.removeDefinitions(ctx)
}

// otherKinds lists the kinds that the API server serves, without those that are
// removed by themselves, and without events, which nobody removes.
func (c *cleaning) otherKinds() ([]kindOfObject, error) {
	lists, err := discovery.ServerPreferredResources(c.client.Discovery())
	if err != nil && len(lists) == 0 {
		return nil, fmt.Errorf("%w: perhaps objects of kinds of their own: asking which kinds are served: %w", ErrLeftBehind, err)
	}
	skip := []string{
		"namespaces", "nodes", "services", "serviceaccounts", "pods", "endpoints", "events",
		"endpointslices.discovery.k8s.io", "events.events.k8s.io", definitions().GroupResource().String(),
	}
	var kinds []kindOfObject
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			gvr := gv.WithResource(r.Name)
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "delete") && !slices.Contains(skip, gvr.GroupResource().String()) {
				kinds = append(kinds, kindOfObject{gvr, r.Namespaced})
			}
		}
	}
	return kinds, nil
}

// removeKind removes all labelled objects of a kind. A kind that this user may not list
// is none that a run of this user has written.
func (c *cleaning) removeKind(ctx context.Context, kind kindOfObject) error {
	found, err := c.dynamic.Resource(kind.gvr).List(ctx, c.list)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: perhaps %s: list them: %w", ErrLeftBehind, kind.gvr.GroupResource(), err)
	}
	var calls []func() error
	for i := range found.Items {
		o := &found.Items[i]
		calls = append(calls, func() error {
			err := ignoreNotFound(inNamespace(c.dynamic, kind.gvr, o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{}))
			if err == nil && !kind.namespaced {
				return c.gone("", nil)
			}
			return err
		})
	}
	if err := inTurn(calls...); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrLeftBehind, kind.gvr.GroupResource(), err)
	}
	return nil
}

// removeDefinitions removes the labelled CustomResourceDefinitions, but for those of
// which there are objects: they are somebody else's, and would go with it.
func (c *cleaning) removeDefinitions(ctx context.Context) error {
	found, err := c.dynamic.Resource(definitions()).List(ctx, c.list)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || err == nil && len(found.Items) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list custom resource definitions: %w", err)
	}
	var calls []func() error
	for i := range found.Items {
		calls = append(calls, func() error { return c.removeDefinition(ctx, &found.Items[i]) })
	}
	if err := inTurn(calls...); err != nil {
		return err
	}
	return c.awaitNoDefinitions(ctx)
}

// removeDefinition asks for a CustomResourceDefinition to go, unless there are objects
// of its kind.
func (c *cleaning) removeDefinition(ctx context.Context, d *unstructured.Unstructured) error {
	kinds := map[schema.GroupVersionKind]kindOfObject{}
	defined(d, kinds)
	for _, kind := range kinds {
		others, err := c.dynamic.Resource(kind.gvr).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case apierrors.IsNotFound(err): // it is not served any more
		case err != nil:
			return fmt.Errorf("%w: the custom resource definition %s: list its objects: %w", ErrLeftBehind, d.GetName(), err)
		case len(others.Items) > 0:
			return fmt.Errorf("%w: the custom resource definition %s: others have objects of its kind: remove them first", ErrLeftBehind, d.GetName())
		}
	}
	return c.gone("", ignoreNotFound(c.dynamic.Resource(definitions()).Delete(ctx, d.GetName(), metav1.DeleteOptions{})))
}

// awaitNoDefinitions waits until the API server has dropped the definitions that were
// deleted, so that the next run can create them.
func (c *cleaning) awaitNoDefinitions(ctx context.Context) error {
	deadline := time.Now().Add(establishLimit)
	for {
		left, err := c.dynamic.Resource(definitions()).List(ctx, c.list)
		if err != nil || len(left.Items) == 0 {
			return err
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("%w: the custom resource definition %s, %s after its deletion", ErrLeftBehind, left.Items[0].GetName(), establishLimit)
		}
		if !sleep(ctx, pollEvery) {
			return context.Cause(ctx)
		}
	}
}
