package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/report"
	"github.com/xdsbench/xdsbench/result"
)

// runner returns how an experiment makes one of its runs: as the command run
// does, reports included.
func runner(s streams, api apiServerFlags) (experiment.RunFunc, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("path of this program: %w", err)
	}
	return func(ctx context.Context, p *profiles.Profile, dir string, progress func(harness.Status)) (*result.Result, error) {
		return runOnce(ctx, harness.Config{
			Profile: p, Dir: dir, Kubeconfig: api.kubeconfig, Context: api.context,
			Environ: s.environ, Self: self, Version: buildVersion(), Progress: progress,
		})
	}, nil
}

// runOnce makes one run and writes the reports beside its result.
func runOnce(ctx context.Context, cfg harness.Config) (*result.Result, error) {
	res, err := harness.Run(ctx, cfg)
	if res == nil {
		return nil, err
	}
	return res, errors.Join(err, report.Files(cfg.Dir, res))
}
