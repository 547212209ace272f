package registry

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apidiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
)

// lookAgainAfter is how soon a kind that was not served is looked for again.
const lookAgainAfter = 2 * time.Second

// configWatch follows Istio's objects. An informer of a kind that is not served
// would fail again and again, so each begins when its kind is.
type configWatch struct {
	served  apidiscovery.ServerResourcesInterfaceWithContext
	factory dynamicinformer.DynamicSharedInformerFactory
	missing map[string]cache.ResourceEventHandler // by plural name
}

// WatchConfig follows Istio's objects until ctx is done. It returns when those of
// the kinds that are served have been listed; the others are looked for now and
// then. stop waits for the watches to end, which they do with ctx.
func (r *Registry) WatchConfig(
	ctx context.Context, served apidiscovery.DiscoveryInterface, client dynamic.Interface,
) (stop func(), err error) {
	w := &configWatch{
		served:  apidiscovery.ToDiscoveryInterfaceWithContext(served),
		factory: dynamicinformer.NewDynamicSharedInformerFactory(client, 0),
		missing: map[string]cache.ResourceEventHandler{
			kube.Sidecars:         handler(r.onSidecar),
			kube.DestinationRules: handler(r.onRule),
			kube.VirtualServices:  handler(r.onVirtualService),
		},
	}
	listed, err := w.start(ctx)
	if err == nil && !cache.WaitForCacheSync(ctx.Done(), listed...) {
		err = errNotListed
	}
	if err != nil {
		w.factory.Shutdown()
		return nil, err
	}
	var looking sync.WaitGroup
	looking.Go(func() { w.look(ctx) })
	return func() {
		looking.Wait()
		w.factory.Shutdown()
	}, nil
}

// look starts informers as their kinds appear, until all have or ctx is done.
func (w *configWatch) look(ctx context.Context) {
	ticker := time.NewTicker(lookAgainAfter)
	defer ticker.Stop()
	for len(w.missing) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if _, err := w.start(ctx); err != nil {
			return
		}
	}
}

// start begins the informers of kinds that have come to be served.
func (w *configWatch) start(ctx context.Context) (listed []cache.InformerSynced, err error) {
	version := schema.GroupVersion{Group: kube.ConfigGroup, Version: kube.ConfigVersion}
	resources, err := w.served.ServerResourcesForGroupVersionWithContext(ctx, version.String())
	if err != nil {
		return nil, nil //nolint:nilerr // not served, or not now
	}
	for i := range resources.APIResources {
		name := resources.APIResources[i].Name
		handler, wanted := w.missing[name]
		if !wanted {
			continue
		}
		informer := w.factory.ForResource(version.WithResource(name)).Informer()
		if err := informer.SetTransform(stripConfig); err != nil {
			return nil, err
		}
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return nil, err
		}
		delete(w.missing, name)
		listed = append(listed, registration.HasSynced)
	}
	w.factory.Start(ctx.Done())
	return listed, nil
}

// stripConfig drops what the registry does not need. The object is the informer's
// own.
func stripConfig(object any) (any, error) {
	if o, ok := object.(*unstructured.Unstructured); ok {
		stripped := &unstructured.Unstructured{Object: map[string]any{"spec": o.Object["spec"]}}
		stripped.SetAPIVersion(o.GetAPIVersion())
		stripped.SetKind(o.GetKind())
		stripped.SetNamespace(o.GetNamespace())
		stripped.SetName(o.GetName())
		stripped.SetResourceVersion(o.GetResourceVersion())
		stripped.SetUID(o.GetUID())
		return stripped, nil
	}
	return object, nil
}
