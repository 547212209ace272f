package calibrate

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Delayed is a quantile, in seconds, of the delays that the control plane recorded, and
// of the latencies that the run and one without the delay report.
type Delayed struct{ Share, Injected, Measured, Baseline float64 }

// RunDelay makes two runs side by side, without and with a delay, and compares them.
// The line says whether all of the delayed run was delivered; merged, that not each
// delivery was a push, and so a delay, of its own.
func RunDelay(ctx context.Context, cfg Config, delay string) (all []Delayed, delivered Line, merged bool, err error) {
	scenarios := []scenario{delayScenario("baseline", "", checkBaseline), delayScenario("delayed", delay, checkConstant)}
	runs := make([]*outcome, len(scenarios))
	group, ctx := errgroup.WithContext(ctx)
	for i := range scenarios {
		group.Go(func() (err error) {
			runs[i], err = scenarios[i].run(ctx, cfg, nil)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, Line{}, false, err
	}
	baseline, run := runs[0], runs[1]
	for _, q := range []float64{0.50, 0.99} {
		all = append(all, Delayed{q, run.injected(q), run.measured(q), baseline.measured(q)})
	}
	return all, complete(delay, run), int64(len(run.record.Delays)) != run.result.Propagation.Deliveries, nil
}

// RunFaults makes the run with everything but delays.
func RunFaults(ctx context.Context, cfg Config) ([]Line, error) {
	s := faultScenario(cfg)
	o, err := s.run(ctx, cfg, nil)
	if err != nil {
		return nil, err
	}
	return s.check(&s, nil, o), nil
}
