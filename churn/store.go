package churn

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/xdsbench/xdsbench/mesh"
)

// store writes the objects of one kind.
type store interface {
	// write creates an object, or updates it where it has the revision, or any if that
	// is empty. It returns the new revision.
	write(ctx context.Context, o runtime.Object, revision string, create bool) (string, error)
	revision(ctx context.Context, namespace, name string) (string, error)
	delete(ctx context.Context, namespace, name string) error
}

// stores returns what writes each kind.
func stores(cfg Config) map[string]store {
	core := cfg.Client.CoreV1()
	all := map[string]store{
		"EndpointSlice": typedOf(cfg.Client.DiscoveryV1().EndpointSlices),
		"Service":       typedOf(core.Services),
		"Namespace":     typed[*corev1.Namespace]{func(string) client[*corev1.Namespace] { return core.Namespaces() }},
		"Pod":           typedOf(core.Pods),
	}
	if cfg.Dynamic != nil {
		for _, kind := range mesh.ConfigKinds() {
			all[string(kind)] = untyped{cfg.Dynamic.Resource(kind.Resource())}
		}
	}
	return all
}

// client is what the clients of all typed objects have.
type client[T any] interface {
	Create(ctx context.Context, o T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, o T, opts metav1.UpdateOptions) (T, error)
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// typed is a store of objects that have a Go type.
type typed[T metav1.Object] struct {
	in func(namespace string) client[T]
}

func typedOf[T metav1.Object, C client[T]](in func(namespace string) C) typed[T] {
	return typed[T]{func(namespace string) client[T] { return in(namespace) }}
}

func (t typed[T]) write(ctx context.Context, o runtime.Object, revision string, create bool) (string, error) {
	object, ok := o.(T)
	if !ok {
		return "", fmt.Errorf("a %T has come to the store of another kind", o)
	}
	object.SetResourceVersion(revision)
	var err error
	if in := t.in(object.GetNamespace()); create {
		object, err = in.Create(ctx, object, metav1.CreateOptions{})
	} else {
		object, err = in.Update(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil {
		return "", err
	}
	return object.GetResourceVersion(), nil
}

func (t typed[T]) revision(ctx context.Context, namespace, name string) (string, error) {
	held, err := t.in(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return held.GetResourceVersion(), nil
}

func (t typed[T]) delete(ctx context.Context, namespace, name string) error {
	return t.in(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
}

// untyped is a store of objects that have no Go type here.
type untyped struct {
	of dynamic.NamespaceableResourceInterface
}

func (u untyped) write(ctx context.Context, o runtime.Object, revision string, create bool) (string, error) {
	object, ok := o.(*unstructured.Unstructured)
	if !ok {
		return "", fmt.Errorf("a %T has come to the store of config objects", o)
	}
	var err error
	if revision == "" && !create {
		// Of these objects no update is unconditional.
		if revision, err = u.revision(ctx, object.GetNamespace(), object.GetName()); err != nil {
			return "", err
		}
	}
	object.SetResourceVersion(revision)
	if in := u.of.Namespace(object.GetNamespace()); create {
		object, err = in.Create(ctx, object, metav1.CreateOptions{})
	} else {
		object, err = in.Update(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil {
		return "", err
	}
	return object.GetResourceVersion(), nil
}

func (u untyped) revision(ctx context.Context, namespace, name string) (string, error) {
	held, err := u.of.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return held.GetResourceVersion(), nil
}

func (u untyped) delete(ctx context.Context, namespace, name string) error {
	return u.of.Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{})
}
