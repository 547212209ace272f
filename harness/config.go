package harness

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result/metric"
)

// ErrInvalid marks errors that the caller's input caused: an impossible
// profile, an output folder that exists.
var ErrInvalid = errors.New("invalid input")

// invalid marks err as the caller's.
func invalid(err error) error { return &invalidError{err} }

type invalidError struct{ error }

func (e *invalidError) Unwrap() []error { return []error{e.error, ErrInvalid} }

// Config is what one run needs.
type Config struct {
	Profile *profiles.Profile
	// Dir is the folder for the results. It must not exist.
	Dir string
	// Kubeconfig names a real API server; empty means one in memory. Context
	// chooses among its contexts.
	Kubeconfig, Context string
	// Environ is the environment, as NAME=VALUE, of which targets get what any
	// program needs (PATH, HOME, TMPDIR).
	Environ []string
	// Self is the path of the xdsbench binary, which the embedded control
	// plane is started from.
	Self string
	// Version is the harness's own version, for the result.
	Version string
	// MetricsAddress is where the run's own figures are served to Prometheus while
	// it lasts, HOST:PORT; empty for nowhere.
	MetricsAddress string
	// Progress, if set, is called several times a second.
	Progress func(Status)
	// SelfProfile writes a CPU and a heap profile of the harness itself into Dir.
	SelfProfile bool
}

// Validate reports every problem of a profile, across all stages. It looks at the
// profile alone.
func Validate(p *profiles.Profile) error {
	return errors.Join(p.Validate(), metric.Validate(p.SLO), checkAnswer(p.Answer), checkProfiling(p))
}

// checkAnswer makes sure that what a profile answers is measured.
func checkAnswer(lines []profiles.Answer) error {
	var errs []error
	for i, a := range lines {
		if !metric.Exists(a.Metric) {
			errs = append(errs, fmt.Errorf("answer[%d].metric: %q: must be a metric of docs/metrics.md, such as propagation.all.p99", i, a.Metric))
		}
		if a.Says == "" {
			errs = append(errs, fmt.Errorf("answer[%d].says: must say what %s is", i, a.Metric))
		}
	}
	return errors.Join(errs...)
}

// CheckRunnable reports what Validate does, and the limits of this machine that are
// too low for the profile's fleet.
func CheckRunnable(p *profiles.Profile) error {
	return errors.Join(Validate(p), fakeproxy.CheckLimits(p.Proxies))
}

// logFile is the harness's own log in the results folder.
const logFile = "harness.log"

// makeDir creates the results folder, which must be new, and opens the log in it.
func (r *run) makeDir() (closeLog func() error, err error) {
	dir := r.cfg.Dir
	if _, err := os.Stat(dir); err == nil {
		return nil, invalid(fmt.Errorf("output folder %s: already exists: choose another with -o, or remove it", dir))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, invalid(fmt.Errorf("output folder: %w: choose another with -o", err))
	}
	log, err := os.Create(filepath.Join(dir, logFile))
	if err != nil {
		return nil, invalid(fmt.Errorf("output folder: %w: choose another with -o", err))
	}
	r.log = slog.New(slog.NewTextHandler(log, nil))
	return log.Close, nil
}

// removeIfEmpty removes a results folder that holds nothing to learn from: no
// more than our own log and empty files.
func removeIfEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 0 && e.Name() != logFile {
			return err
		}
	}
	return os.RemoveAll(dir)
}
