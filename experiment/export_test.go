package experiment

import "context"

// CalibrateDelay makes two runs, without and with a delay, and compares them.
func CalibrateDelay(ctx context.Context, cfg CalibrateConfig, delay string) ([]CalibrationLine, error) {
	var runs []*outcome
	for _, s := range []scenario{delayScenario("baseline", "", checkBaseline), delayScenario("delayed", delay, checkConstant)} {
		o, err := s.run(ctx, cfg, nil)
		if err != nil {
			return nil, err
		}
		runs = append(runs, o)
	}
	s := delayScenario("delayed", delay, checkConstant)
	return s.check(&s, runs[0], runs[1]), nil
}

// CalibrateFaults makes the run with everything but delays.
func CalibrateFaults(ctx context.Context, cfg CalibrateConfig) ([]CalibrationLine, error) {
	s := faultScenario(cfg)
	o, err := s.run(ctx, cfg, nil)
	if err != nil {
		return nil, err
	}
	return s.check(&s, nil, o), nil
}
