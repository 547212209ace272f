package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// stop ends everything that the run started and removes everything it created, also
// when ctx has been cancelled; the removal lasts no longer than ending.
func (r *run) stop(ctx, ending context.Context) error {
	r.enter(PhaseStop, 0, "disconnecting")
	r.disconnect(ctx)
	errs := []error{r.stopTarget(ctx)}
	if r.kube != nil {
		errs = append(errs, r.removeObjects(ending), r.kube.close())
	}
	return errors.Join(errs...)
}

// disconnect ends the goroutines of the run, and with them the proxies' streams. Those
// that do not end in time are left to the end of the process.
func (r *run) disconnect(ctx context.Context) {
	if r.cancel == nil {
		return
	}
	r.cancel()
	ctx, cancel := outlive(ctx, closeLimit, closeGrace)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.wait.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		r.warn("proxies: %d streams did not close in time: they end with this process", r.fleet.Counts().Connected)
	}
}

func (r *run) stopTarget(ctx context.Context) error {
	if r.target == nil {
		return nil
	}
	ctx, cancel := outlive(ctx, targetLimit, targetGrace)
	defer cancel()
	return r.target.Stop(ctx)
}

// removeObjects removes what the run created on a real API server. What is left is a
// warning too, so that the result tells how to remove it.
func (r *run) removeObjects(ctx context.Context) error {
	if !r.kube.real() {
		return nil
	}
	r.setDetail("removing what the run created on the API server")
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	r.kube.limitRequests(ctx)
	if _, err := Clean(ctx, r.kube.client, r.kube.dynamic, r.id); err != nil {
		err = fmt.Errorf("%w; remove it with `%s`", err, r.cleanCommand())
		r.warn("%v", err)
		return err
	}
	return nil
}

// cleanCommand is the command that removes what the run created.
func (r *run) cleanCommand() string {
	words := []string{"xdsbench clean --kubeconfig", r.cfg.Kubeconfig}
	if r.cfg.Context != "" {
		words = append(words, "--context", r.cfg.Context)
	}
	return strings.Join(append(words, "--run", r.id), " ")
}
