package harness

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/mesh"
)

// turnover is which proxies come and go with the pods that churn adds and removes, and
// when. A pod that churn adds is itself the pod of the proxy that joins. A pod that was
// there before has no proxy of its own: one of the fleet, of its namespace if possible,
// leaves in its stead, and the harness removes that proxy's pod.
type turnover struct {
	turns []turn
	// joiners are the pods of the proxies that join, which follow the fleet's own.
	joiners  []mesh.Pod
	warnings []string

	present []atomic.Int64 // of each proxy, when it was to connect, as event.Time; absent
	left    atomic.Int64   // turns to come
}

// absent is the time of a proxy that has not joined yet, or has left.
const absent = -1

// turn is one proxy's coming or going.
type turn struct {
	at    time.Duration // from the start of steady load
	proxy int
	join  bool
	// pod is to be removed with the proxy; nil if churn removes it.
	pod *mesh.Pod
}

// planTurnover decides which proxies come and go with the pods of a schedule. kinds are
// those of the fleet's pods.
func planTurnover(spec fakeproxy.Turnover, schedule *churn.Schedule, pods []mesh.Pod, kinds []string) *turnover {
	t := &turnover{}
	p := turnoverPlan{turnover: t, kind: spec.KindOf(), share: spec.Share, pods: pods, kinds: kinds, gone: make([]bool, len(pods)), of: map[string]int{}}
	if spec.Share > 0 {
		p.run(schedule.Joins(), schedule.Leaves())
	}
	t.present = make([]atomic.Int64, len(pods)+len(t.joiners))
	for i := range t.joiners {
		t.present[len(pods)+i].Store(absent)
	}
	t.left.Store(int64(len(t.turns)))
	return t
}

// turnoverPlan is what planTurnover keeps while it plans.
type turnoverPlan struct {
	*turnover

	kind  string
	share float64
	pods  []mesh.Pod
	kinds []string
	gone  []bool
	// of has the proxy of each pod that churn has added, "namespace/name": -1 if it has
	// none.
	of                  map[string]int
	joins, leaves, lack int
}

func (p *turnoverPlan) run(joins, leaves []churn.PodChange) {
	for len(joins)+len(leaves) > 0 {
		if len(leaves) == 0 || len(joins) > 0 && joins[0].Offset <= leaves[0].Offset {
			p.join(joins[0])
			joins = joins[1:]
		} else {
			p.leave(leaves[0])
			leaves = leaves[1:]
		}
	}
	if len(p.turns) == 0 {
		p.warnings = append(p.warnings, "proxies.turnover: no proxy comes or goes, as churn adds and removes too few pods: give churn that does, or raise the share")
	}
	if p.lack > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf(
			"proxies.turnover: %d pods went without a proxy, as no %s of the fleet was left: raise proxies.count, or lower proxies.turnover.share", p.lack, p.kind))
	}
}

// drawn reports whether the nth pod, from 0, is among the share that has a proxy.
func (p *turnoverPlan) drawn(n int) bool {
	return int(float64(n+1)*p.share) > int(float64(n)*p.share)
}

func (p *turnoverPlan) join(c churn.PodChange) {
	key := c.Pod.Namespace + "/" + c.Pod.Name
	p.of[key] = -1
	if p.drawn(p.joins) {
		p.of[key] = len(p.pods) + len(p.joiners)
		p.turns = append(p.turns, turn{at: c.Offset, proxy: p.of[key], join: true})
		p.joiners = append(p.joiners, c.Pod)
	}
	p.joins++
}

func (p *turnoverPlan) leave(c churn.PodChange) {
	key := c.Pod.Namespace + "/" + c.Pod.Name
	if proxy, joined := p.of[key]; joined {
		delete(p.of, key)
		if proxy >= 0 {
			p.turns = append(p.turns, turn{at: c.Offset, proxy: proxy})
		}
		return
	}
	if p.drawn(p.leaves) {
		if proxy := p.standIn(c.Pod.Namespace); proxy >= 0 {
			p.gone[proxy] = true
			p.turns = append(p.turns, turn{at: c.Offset, proxy: proxy, pod: &p.pods[proxy]})
		} else {
			p.lack++
		}
	}
	p.leaves++
}

// standIn returns a proxy of the fleet that can leave for a pod of a namespace; -1 if
// there is none.
func (p *turnoverPlan) standIn(namespace string) int {
	other := -1
	for i := range p.pods {
		switch {
		case p.gone[i] || p.kinds[i] != p.kind:
		case p.pods[i].Namespace == namespace:
			return i
		case other < 0:
			other = i
		}
	}
	return other
}

// startTurnover carries out the turns until ctx, or the run, ends.
func (r *run) startTurnover(ctx context.Context, start event.Time) {
	if len(r.turnover.turns) == 0 {
		return
	}
	ctx, end := context.WithCancel(ctx)
	others := r.cancel
	r.cancel = func() {
		end()
		others()
	}
	r.wait.Go(func() { r.turnOver(ctx, start) })
}

// turnOver carries out the turns, in their order, from the start of steady load on.
func (r *run) turnOver(ctx context.Context, start event.Time) {
	failed := 0
	var first error
	for _, t := range r.turnover.turns {
		due := start.Add(t.at)
		if wait := due.Sub(r.clock.Now()); !sleep(ctx, wait) {
			break
		}
		if err := r.turn(ctx, t, due); err != nil && ctx.Err() == nil {
			failed++
			if first == nil {
				first = err
			}
		}
		r.turnover.left.Add(-1)
	}
	if failed > 0 {
		r.warn("proxies.turnover: %d proxies came or went only in part: %v", failed, first)
	}
}

func (r *run) turn(ctx context.Context, t turn, due event.Time) error {
	if t.join {
		r.collector.Joins(t.proxy, due)
		r.turnover.present[t.proxy].Store(int64(due))
		r.away.expectMore(1)
		return r.fleet.Join(t.proxy)
	}
	r.away.expectMore(-1)
	r.turnover.present[t.proxy].Store(absent)
	r.fleet.Leave(t.proxy)
	if t.pod == nil {
		return nil
	}
	return r.removePod(ctx, t.pod)
}

// over reports whether all proxies have come and gone.
func (t *turnover) over() bool { return t.left.Load() == 0 }

// turnedOver reports whether all proxies have come and gone, and those that came are ready.
func (r *run) turnedOver() bool {
	return len(r.turnover.turns) == 0 || r.turnover.over() && r.fleet.Counts().Ready >= r.away.wanted()
}

// dueOf returns when a proxy was to connect; false if it is not there. Proxies that are
// there from the start connect at the fleet's rate.
func (r *run) dueOf(proxy int) (due event.Time, present bool) {
	at := r.turnover.present[proxy].Load()
	switch at {
	case absent:
		return 0, false
	case 0:
		return r.fleetStart.Add(time.Duration(proxy) * r.cfg.Profile.Proxies.ConnectRate.Interval()), true
	default:
		return event.Time(at), true
	}
}

// removePod takes a pod of the fleet out of its service's EndpointSlices, and deletes it.
func (r *run) removePod(ctx context.Context, pod *mesh.Pod) error {
	api := r.kube.client.DiscoveryV1().EndpointSlices(pod.Namespace)
	list, err := api.List(ctx, metav1.ListOptions{
		LabelSelector: mesh.RunLabel + "=" + r.id + "," + discoveryv1.LabelServiceName + "=" + pod.Service,
	})
	if err != nil {
		return fmt.Errorf("list EndpointSlices: %w", err)
	}
	for i := range list.Items {
		slice := &list.Items[i]
		kept := slices.DeleteFunc(slices.Clone(slice.Endpoints), func(e discoveryv1.Endpoint) bool {
			return e.TargetRef != nil && e.TargetRef.Name == pod.Name
		})
		if len(kept) == len(slice.Endpoints) {
			continue
		}
		slice.Endpoints = kept
		if _, err := api.Update(ctx, slice, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("update EndpointSlice %s: %w", slice.Name, err)
		}
	}
	err = r.kube.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete pod %s: %w", pod.Name, err)
	}
	return nil
}
