package registry

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
)

var errNotListed = errors.New("stopped before the API server's objects were listed")

// Watch fills the registry from an API server and follows it until ctx is
// done. It returns when all objects have been listed; stop then waits for the
// watches to end, which they do with ctx.
func (r *Registry) Watch(ctx context.Context, client kubernetes.Interface) (stop func(), err error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(strip))
	core, discovery := factory.Core().V1(), factory.Discovery().V1()
	var listed []cache.InformerSynced
	for _, watch := range []struct {
		kind     string
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{"nodes", core.Nodes().Informer(), handler(r.onNode)},
		{"pods", core.Pods().Informer(), handler(r.onPod)},
		{"services", core.Services().Informer(), handler(r.onService)},
		{"endpointslices", discovery.EndpointSlices().Informer(), handler(r.onSlice)},
	} {
		registration, err := watch.informer.AddEventHandler(watch.handler)
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", watch.kind, err)
		}
		listed = append(listed, registration.HasSynced)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), listed...) {
		factory.Shutdown()
		return nil, errNotListed
	}
	return factory.Shutdown, nil
}

// handler makes one typed callback of client-go's three: previous is nil for a new
// object, next for a deleted one.
func handler[T any](changed func(previous, next *T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { changed(nil, object.(*T)) },
		UpdateFunc: func(before, after any) { changed(before.(*T), after.(*T)) },
		DeleteFunc: func(object any) {
			// A deletion that the watch missed comes with the last known state.
			if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = missed.Obj
			}
			changed(object.(*T), nil)
		},
	}
}

func (r *Registry) onService(previous, next *corev1.Service) {
	if next == nil {
		r.metrics.InboundUpdates.WithLabelValues("svcdelete").Inc()
		r.setService(nameOf(previous), nil)
		return
	}
	r.metrics.InboundUpdates.WithLabelValues("svc").Inc()
	r.setService(nameOf(next), kube.NewService(next))
}

func (r *Registry) onSlice(previous, next *discoveryv1.EndpointSlice) {
	r.metrics.InboundUpdates.WithLabelValues("eds").Inc()
	before, after := ownerOf(previous), ownerOf(next)
	if before.Name != "" && before != after {
		r.setSlice(before, previous.Name, nil)
	}
	if after.Name != "" {
		r.setSlice(after, next.Name, kube.NewEndpointSlice(next, r.sendUnhealthy))
	}
}

// ownerOf returns the service that a slice belongs to; its name is empty if
// there is none.
func ownerOf(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	if slice == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
}

func (r *Registry) onPod(previous, next *corev1.Pod) {
	if next == nil {
		r.deletePod(previous)
		return
	}
	r.setPod(previous, next)
}

func (r *Registry) onNode(previous, next *corev1.Node) {
	if next == nil {
		r.setNode(previous.Name, kube.Locality{})
		return
	}
	r.setNode(next.Name, kube.LocalityOf(next))
}

func nameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// strip drops what the registry does not need before the informers store it. It
// works on copies, since an in-process API server may share its objects.
func strip(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		stripped := &corev1.Pod{ObjectMeta: stripMeta(o.ObjectMeta)}
		stripped.Spec.HostNetwork = o.Spec.HostNetwork
		stripped.Status.Phase, stripped.Status.PodIP = o.Status.Phase, o.Status.PodIP
		for i := range o.Spec.Containers {
			if ports := o.Spec.Containers[i].Ports; len(ports) > 0 {
				stripped.Spec.Containers = append(stripped.Spec.Containers, corev1.Container{Ports: ports})
			}
		}
		return stripped, nil
	case *corev1.Node:
		return &corev1.Node{ObjectMeta: stripMeta(o.ObjectMeta)}, nil
	case *corev1.Service:
		return &corev1.Service{ObjectMeta: stripMeta(o.ObjectMeta), Spec: o.Spec}, nil
	case *discoveryv1.EndpointSlice:
		stripped := *o
		stripped.ObjectMeta = stripMeta(o.ObjectMeta)
		return &stripped, nil
	}
	return object, nil
}

func stripMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	to, ok := meta.Annotations[kube.ExportToAnnotation]
	meta.ManagedFields, meta.Annotations, meta.OwnerReferences = nil, nil, nil
	if ok {
		meta.Annotations = map[string]string{kube.ExportToAnnotation: to}
	}
	return meta
}
