package controlplane

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// errNotSynced is reported when the context ends before the first listing.
var errNotSynced = errors.New("the API server's objects were not listed in time")

// watcher feeds a registry from an API server.
type watcher struct {
	factory informers.SharedInformerFactory
	synced  []cache.InformerSynced
}

func newWatcher(client kubernetes.Interface, r *registry) (*watcher, error) {
	w := &watcher{factory: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(strip))}
	core, discovery := w.factory.Core().V1(), w.factory.Discovery().V1()
	err := errors.Join(
		w.handle("nodes", core.Nodes().Informer(), nodeHandler(r)),
		w.handle("pods", core.Pods().Informer(), podHandler(r)),
		w.handle("services", core.Services().Informer(), serviceHandler(r)),
		w.handle("endpointslices", discovery.EndpointSlices().Informer(), sliceHandler(r)),
	)
	return w, err
}

func (w *watcher) handle(name string, informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("watch %s: %w", name, err)
	}
	w.synced = append(w.synced, registration.HasSynced)
	return nil
}

// run starts the watches and returns once their first listing has been
// handled. stop ends them after ctx is done.
func (w *watcher) run(ctx context.Context) error {
	w.factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), w.synced...) {
		return errNotSynced
	}
	return nil
}

// stop waits for the watches to end; their context must be done.
func (w *watcher) stop() { w.factory.Shutdown() }

// strip drops what the model never looks at, before it is kept. It works on
// copies, since an in-process API server may share the objects it hands out.
func strip(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		return &corev1.Pod{
			TypeMeta:   o.TypeMeta,
			ObjectMeta: stripMeta(o.ObjectMeta),
			Spec: corev1.PodSpec{
				HostNetwork: o.Spec.HostNetwork,
				Containers:  stripContainers(o.Spec.Containers),
			},
			Status: corev1.PodStatus{Phase: o.Status.Phase, PodIP: o.Status.PodIP},
		}, nil
	case *corev1.Node:
		return &corev1.Node{TypeMeta: o.TypeMeta, ObjectMeta: stripMeta(o.ObjectMeta)}, nil
	case *corev1.Service:
		stripped := &corev1.Service{TypeMeta: o.TypeMeta, ObjectMeta: stripMeta(o.ObjectMeta), Spec: o.Spec}
		if to, ok := o.Annotations[exportToAnnotation]; ok {
			stripped.Annotations = map[string]string{exportToAnnotation: to}
		}
		return stripped, nil
	case *discoveryv1.EndpointSlice:
		stripped := *o
		stripped.ObjectMeta = stripMeta(o.ObjectMeta)
		return &stripped, nil
	}
	return object, nil
}

func stripMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	meta.ManagedFields, meta.Annotations, meta.OwnerReferences = nil, nil, nil
	return meta
}

func stripContainers(containers []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, 0, len(containers))
	for i := range containers {
		if len(containers[i].Ports) > 0 {
			out = append(out, corev1.Container{Ports: containers[i].Ports})
		}
	}
	return out
}

// handler turns the untyped callbacks of client-go into typed ones.
func handler[T any](set func(previous, next T), del func(T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if next, ok := object.(T); ok {
				var none T
				set(none, next)
			}
		},
		UpdateFunc: func(before, after any) {
			previous, ok := before.(T)
			next, ok2 := after.(T)
			if ok && ok2 {
				set(previous, next)
			}
		},
		DeleteFunc: func(object any) {
			// A deletion that the watch missed comes with the last known state.
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if last, ok := object.(T); ok {
				del(last)
			}
		},
	}
}

func serviceHandler(r *registry) cache.ResourceEventHandler {
	return handler(
		func(_, next *corev1.Service) { r.setService(next) },
		func(last *corev1.Service) {
			r.deleteService(serviceKey{namespace: last.Namespace, name: last.Name})
		})
}

func sliceHandler(r *registry) cache.ResourceEventHandler {
	return handler(
		func(previous, next *discoveryv1.EndpointSlice) {
			if previous != nil && previous.Labels[discoveryv1.LabelServiceName] != next.Labels[discoveryv1.LabelServiceName] {
				r.deleteSlice(previous)
			}
			r.setSlice(next)
		}, r.deleteSlice)
}

func podHandler(r *registry) cache.ResourceEventHandler {
	return handler(r.setPod, r.deletePod)
}

func nodeHandler(r *registry) cache.ResourceEventHandler {
	return handler(
		func(_, next *corev1.Node) { r.setNode(next) },
		func(last *corev1.Node) { r.deleteNode(last.Name) })
}
