package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// watch keeps a store up to date with the API server until ctx is done. It closes
// ready when the store holds all that there was at the start. Changes that come while
// others are worked through are taken together.
func watch(ctx context.Context, client kubernetes.Interface, st store, ready chan<- struct{}) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	services, endpoints := factory.Core().V1().Services(), factory.Discovery().V1().EndpointSlices()
	changed := make(chan struct{}, 1)
	wake := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: wake, UpdateFunc: func(_, obj any) { wake(obj) }, DeleteFunc: wake}
	for _, informer := range []cache.SharedIndexInformer{services.Informer(), endpoints.Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced && ctx.Err() == nil {
			return fmt.Errorf("no list of %s", kind)
		}
	}
	for ctx.Err() == nil {
		allServices, err := services.Lister().List(labels.Everything())
		if err != nil {
			return err
		}
		allSlices, err := endpoints.Lister().List(labels.Everything())
		if err != nil {
			return err
		}
		if err := st.set(clustersByName(allServices, allSlices)); err != nil {
			return err
		}
		if ready != nil {
			close(ready)
			ready = nil
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	return nil
}

// clustersByName returns the clusters of all services.
func clustersByName(services []*corev1.Service, all []*discoveryv1.EndpointSlice) map[string]cluster {
	byService := map[string][]*discoveryv1.EndpointSlice{}
	for _, s := range all {
		key := s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
		byService[key] = append(byService[key], s)
	}
	found := map[string]cluster{}
	for _, s := range services {
		for _, c := range clustersOf(s, byService[s.Namespace+"/"+s.Name]) {
			found[c.name] = c
		}
	}
	return found
}
