package churn

import (
	"context"
	"fmt"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/mesh"
)

// maxAttempts bounds how often one slice is written because of conflicts.
const maxAttempts = 5

// put writes one slice, and again if it has changed, or does not exist,
// meanwhile. The first update of a slice names no resourceVersion, which the API
// server takes as unconditional; the later ones name the last one returned
// (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#concurrency-control-and-consistency).
func (w *worker) put(ctx context.Context, object *discoveryv1.EndpointSlice, create bool) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	client := w.cfg.Client.DiscoveryV1().EndpointSlices(object.Namespace)
	key := object.Namespace + "/" + object.Name
	object.ResourceVersion = w.versions[key]
	var err error
	for range maxAttempts {
		var written *discoveryv1.EndpointSlice
		if create {
			written, err = client.Create(ctx, object, metav1.CreateOptions{})
		} else {
			written, err = client.Update(ctx, object, metav1.UpdateOptions{})
		}
		switch {
		case err == nil:
			w.versions[key] = written.ResourceVersion
			return nil
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
			held, getErr := client.Get(ctx, object.Name, metav1.GetOptions{})
			if getErr != nil {
				return fmt.Errorf("after a conflict on EndpointSlice %s: %w", key, getErr)
			}
			object.ResourceVersion, create = held.ResourceVersion, false
		case apierrors.IsNotFound(err) && !create:
			object.ResourceVersion, create = "", true
		default:
			return fmt.Errorf("write EndpointSlice %s: %w", key, err)
		}
		w.stats.Conflicts++
	}
	return fmt.Errorf("write EndpointSlice %s, %d times: %w", key, maxAttempts, err)
}

// companion writes the pods that the slices of one worker refer to.
type companion struct {
	cfg   Config
	stats Stats
}

// create makes the pods of the jobs, each a little before its job's time, until ctx
// is done. Writes end with the context writing.
func (c *companion) create(ctx, writing context.Context, jobs []*job) {
	for _, j := range jobs {
		if j.created == nil {
			continue
		}
		scheduled := c.cfg.Start.Add(j.step.Offset)
		if !sleepUntil(ctx, c.cfg.Clock, scheduled.Add(-companionLead)) {
			return
		}
		for _, pod := range j.step.change.add {
			c.createPod(writing, pod)
		}
		close(j.created)
	}
}

// createPod makes one pod and gives it its status: a subresource, so a write of
// its own.
func (c *companion) createPod(ctx context.Context, pod mesh.Pod) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	client := c.cfg.Client.CoreV1().Pods(pod.Namespace)
	object := pod.Object()
	created, err := client.Create(ctx, object, metav1.CreateOptions{})
	c.count("create pod", pod.Namespace+"/"+pod.Name, err)
	if err != nil {
		return
	}
	created.Status = object.Status
	_, err = client.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	c.count("write status of pod", pod.Namespace+"/"+pod.Name, err)
}

// delete deletes the pods of the removals that come, until there are no more: they
// have been removed from their slices.
func (c *companion) delete(ctx context.Context, removals <-chan *Step) {
	for step := range removals {
		namespace, _, _ := strings.Cut(step.Service, "/")
		for _, pod := range step.change.pods {
			c.deletePod(ctx, namespace, pod)
		}
	}
}

// deletePod deletes one pod at once, without the grace that a kubelet would wait for.
func (c *companion) deletePod(ctx context.Context, namespace, pod string) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := c.cfg.Client.CoreV1().Pods(namespace).Delete(ctx, pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	c.count("delete pod", namespace+"/"+pod, err)
}

// count keeps account of one write of a pod.
func (c *companion) count(what, pod string, err error) {
	c.stats.CompanionWrites++
	if err != nil {
		c.stats.CompanionFailed++
		c.cfg.Log.Warn(what+" failed", "pod", pod, "err", err)
	}
}
