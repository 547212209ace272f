package sweep

import (
	"context"
	"path/filepath"
	"time"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/harness"
)

// Config says where a sweep's runs go and how they are made.
type Config struct {
	// Dir is the sweep's folder. What it holds of the same plan is kept.
	Dir  string
	Plan *Plan
	Run  experiment.RunFunc
	// Progress, if set, is called several times a second while a run is under way.
	Progress func(Progress)
}

// Progress is where a sweep stands.
type Progress struct {
	// Run counts from 1 to Runs; runs that were kept are counted too.
	Run, Runs int
	Setting   string
	// Left is about how long the rest will take, this run included.
	Left   time.Duration
	Status harness.Status
}

// Run makes every run of the plan that the folder does not hold yet. A run that
// fails is noted in its folder and does not end the sweep. The error is that of
// ctx if it was cut short.
func Run(ctx context.Context, cfg Config) error {
	settings, err := cfg.Plan.Settings()
	if err != nil {
		return err
	}
	if err := prepare(cfg.Dir, cfg.Plan); err != nil {
		return err
	}
	s := &sweeper{cfg: cfg, runs: cfg.Plan.order(settings)}
	dirs := &experiment.Runs{Dir: filepath.Join(cfg.Dir, runsDir), Run: cfg.Run}
	for i, r := range s.runs {
		started := time.Now()
		res, kept, err := dirs.Do(ctx, r.name(), r.setting.Profile, s.progress(i, started))
		switch {
		case ctx.Err() != nil && err != nil:
			return ctx.Err()
		case err != nil:
			if err := writeFailure(filepath.Join(dirs.Dir, r.name()), err); err != nil {
				return err
			}
		case kept && res.Harness != nil && res.Harness.WallSeconds != nil:
			s.took += time.Duration(*res.Harness.WallSeconds * float64(time.Second))
			s.expected += estimate(r.setting.Profile)
		case !kept:
			s.took += time.Since(started)
			s.expected += estimate(r.setting.Profile)
		}
	}
	return nil
}

// sweeper keeps what the time that is left is worked out from.
type sweeper struct {
	cfg  Config
	runs []run
	// took is how long the finished runs took, expected what had been estimated.
	took, expected time.Duration
}

// progress returns the callback for the i-th run.
func (s *sweeper) progress(i int, started time.Time) func(harness.Status) {
	if s.cfg.Progress == nil {
		return nil
	}
	remaining := s.remaining(i)
	return func(status harness.Status) {
		s.cfg.Progress(Progress{
			Run: i + 1, Runs: len(s.runs), Setting: s.runs[i].setting.Name,
			Left: max(remaining-time.Since(started), 0), Status: status,
		})
	}
}

// remaining is about how long the runs from the i-th on take: what their profiles lead
// one to expect, corrected by how far the finished runs were off.
func (s *sweeper) remaining(i int) time.Duration {
	var sum time.Duration
	for _, r := range s.runs[i:] {
		sum += estimate(r.setting.Profile)
	}
	if s.expected > 0 {
		sum = time.Duration(float64(sum) * float64(s.took) / float64(s.expected))
	}
	return sum
}
