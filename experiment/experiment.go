// Package experiment is what the kinds of experiment share. Each kind makes
// several runs, or reads several results, and draws one conclusion: see the
// packages calibrate, sweep, capacity and compare below it.
package experiment

import (
	"context"

	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
)

// RunFunc makes one run of the profile and saves its result and reports in dir,
// which must not exist. progress, if not nil, is called several times a second.
// Both a result and an error come back if something went wrong after proxies had
// connected; the result of a run that was cut short is marked partial.
type RunFunc func(ctx context.Context, p *profiles.Profile, dir string, progress func(harness.Status)) (*result.Result, error)
