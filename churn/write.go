package churn

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/mesh"
)

// maxAttempts bounds how often one object is written because of conflicts.
const maxAttempts = 5

// put writes one object as it should now be, and again if it has changed, or does not
// exist, meanwhile. The first update of an object names no resourceVersion, which the API
// server takes as unconditional; the later ones name the last one returned
// (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#concurrency-control-and-consistency).
func (w *worker) put(ctx context.Context, o object, create bool) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	st := w.stores[o.kind]
	if st == nil {
		return fmt.Errorf("write %s %s: nothing to write it with", o.kind, o.key)
	}
	namespace, name, ok := strings.Cut(o.key, "/")
	if !ok {
		namespace, name = "", o.key
	}
	version := o.kind + " " + o.key
	content := o.want()
	if content == nil {
		delete(w.versions, version)
		if err := st.delete(ctx, namespace, name); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s %s: %w", o.kind, o.key, err)
		}
		return nil
	}
	revision := w.versions[version]
	var err error
	for range maxAttempts {
		var written string
		written, err = st.write(ctx, content, revision, create)
		switch {
		case err == nil:
			w.versions[version] = written
			return nil
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
			held, getErr := st.revision(ctx, namespace, name)
			if getErr != nil {
				return fmt.Errorf("after a conflict on %s %s: %w", o.kind, o.key, getErr)
			}
			revision, create = held, false
		case apierrors.IsNotFound(err) && !create:
			revision, create = "", true
		default:
			return fmt.Errorf("write %s %s: %w", o.kind, o.key, err)
		}
		w.stats.Conflicts++
	}
	return fmt.Errorf("write %s %s, %d times: %w", o.kind, o.key, maxAttempts, err)
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
		if j.after != nil {
			select {
			case <-j.after:
			case <-ctx.Done():
				return
			}
		}
		c.createAccount(writing, j)
		c.createPods(writing, j.step)
		close(j.created)
	}
}

// createPod makes one pod and gives it its status: a subresource, so a write of
// its own.
func (c *companion) createPod(ctx context.Context, pod mesh.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	client := c.cfg.Client.CoreV1().Pods(pod.Namespace)
	object := pod.Object()
	created, err := client.Create(ctx, object, metav1.CreateOptions{})
	c.count("create pod", pod.Namespace+"/"+pod.Name, err)
	if err != nil {
		return err
	}
	created.Status = object.Status
	_, err = client.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	c.count("write status of pod", pod.Namespace+"/"+pod.Name, err)
	return err
}

// delete deletes the pods of the removals that come, until there are no more: they
// have been removed from their slices.
func (c *companion) delete(ctx context.Context, removals <-chan *Step) {
	for step := range removals {
		c.deletePods(ctx, step)
		for _, slice := range step.swept {
			c.deleteSlice(ctx, slice)
		}
	}
}

// createAccount makes the account of pods in a new namespace.
func (c *companion) createAccount(ctx context.Context, j *job) {
	if j.step.account == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	account := j.service.Account()
	_, err := c.cfg.Client.CoreV1().ServiceAccounts(account.Namespace).Create(ctx, account, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	c.count("create service account", account.Namespace+"/"+account.Name, err)
}

// deleteSlice deletes a slice whose Service is gone, as its controller does.
func (c *companion) deleteSlice(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	namespace, name, _ := strings.Cut(key, "/")
	err := c.cfg.Client.DiscoveryV1().EndpointSlices(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	c.count("delete slice", key, err)
}

// deletePod deletes one pod at once, without the grace that a kubelet would wait for.
func (c *companion) deletePod(ctx context.Context, namespace, pod string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := c.cfg.Client.CoreV1().Pods(namespace).Delete(ctx, pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	c.count("delete pod", namespace+"/"+pod, err)
	return err
}

// count keeps account of one write.
func (c *companion) count(what, object string, err error) {
	c.stats.CompanionWrites++
	if err != nil {
		c.stats.CompanionFailed++
		c.cfg.Log.Warn(what+" failed", "object", object, "err", err)
	}
}
