package calibrate

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// RunDelay makes two runs, without and with a delay, and compares them.
// They run side by side: what disturbs one disturbs the other.
func RunDelay(ctx context.Context, cfg Config, delay string) ([]Line, error) {
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
		return nil, err
	}
	s := &scenarios[1]
	return s.check(s, runs[0], runs[1]), nil
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
