package fakekube_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/xdsbench/xdsbench/fakekube"
)

// follow keeps a copy of a namespace's ConfigMaps by list and watch, with
// watches that break at random, and only as long as they last. It returns the
// copy as it is when the last version has been seen.
func follow(ctx context.Context, client kubernetes.Interface, ns string, seed uint64, until func(version string, have map[string]string) bool) (map[string]string, error) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	have, version := map[string]string{}, ""
	for {
		if version == "" {
			list, err := client.CoreV1().ConfigMaps(ns).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			clear(have)
			for _, cm := range list.Items {
				have[cm.Name] = cm.ResourceVersion
			}
			version = list.ResourceVersion
		}
		w, err := client.CoreV1().ConfigMaps(ns).Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			return nil, err
		}
		version, err = apply(w, have, version, rnd.IntN(40)+1)
		w.Stop()
		if err != nil {
			return nil, err
		}
		if until(version, have) {
			return have, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// apply takes at most n events; the version is "" when it must list again.
func apply(w watch.Interface, have map[string]string, version string, n int) (string, error) {
	pause := time.NewTimer(20 * time.Millisecond)
	defer pause.Stop()
	for range n {
		var e watch.Event
		select {
		case e = <-w.ResultChan():
		case <-pause.C:
			return version, nil
		}
		if e.Type == watch.Error {
			err := apierrors.FromObject(e.Object)
			if apierrors.IsResourceExpired(err) {
				return "", nil
			}
			return "", err
		}
		if e.Object == nil {
			return version, nil
		}
		m, err := meta.Accessor(e.Object)
		if err != nil {
			return "", err
		}
		version = m.GetResourceVersion()
		switch e.Type {
		case watch.Added, watch.Modified:
			have[m.GetName()] = version
		case watch.Deleted:
			if _, ok := have[m.GetName()]; !ok {
				return "", fmt.Errorf("%s was deleted and not there", m.GetName())
			}
			delete(have, m.GetName())
		case watch.Bookmark, watch.Error:
		}
	}
	return version, nil
}

// write changes ConfigMaps at random.
func write(ctx context.Context, client kubernetes.Interface, ns string, seed uint64, n int) error {
	rnd := rand.New(rand.NewPCG(seed, 2))
	maps := client.CoreV1().ConfigMaps(ns)
	for i := range n {
		name := fmt.Sprintf("cm-%d", rnd.IntN(20))
		var err error
		switch rnd.IntN(4) {
		case 0:
			err = maps.Delete(ctx, name, metav1.DeleteOptions{})
		case 1:
			_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		default:
			var cm *corev1.ConfigMap
			if cm, err = maps.Get(ctx, name, metav1.GetOptions{}); err == nil {
				cm.Data = map[string]string{"i": fmt.Sprint(seed, i)}
				_, err = maps.Update(ctx, cm, metav1.UpdateOptions{})
			}
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

func TestWatchersThatReconnectSeeTheStoresState(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]fakekube.Options{
		"long history": {},
		"few events":   {HistoryEvents: 8},
		"few bytes":    {HistoryBytes: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, server := start(t, opts)
			remote, local := httpClient(t, server), kubernetes.Interface(store.Clientset())
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()

			var writers, followers sync.WaitGroup
			for i := range uint64(4) {
				client := local
				if i%2 == 0 {
					client = remote
				}
				writers.Go(func() {
					if err := write(ctx, client, "default", i, 300); err != nil {
						t.Error(err)
					}
				})
			}
			done := make(chan struct{})
			final := func() map[string]string {
				out := map[string]string{}
				list, err := local.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
				if err != nil {
					t.Error(err)
					return out
				}
				for _, cm := range list.Items {
					out[cm.Name] = cm.ResourceVersion
				}
				return out
			}
			for i := range uint64(6) {
				client := local
				if i%2 == 0 {
					client = remote
				}
				followers.Go(func() {
					have, err := follow(ctx, client, "default", i, func(_ string, have map[string]string) bool {
						select {
						case <-done:
							return equal(have, final())
						default:
							return false
						}
					})
					if err != nil {
						t.Errorf("follower %d: %v: has %v, the store %v", i, err, have, final())
					}
				})
			}
			writers.Wait()
			close(done)
			followers.Wait()
		})
	}
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}
