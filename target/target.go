package target

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Config says what to start and where.
type Config struct {
	Spec Spec
	// Kubeconfig is the path of the file that names the API server to watch.
	Kubeconfig string
	// Dir is the run's folder; it is made if it is missing.
	Dir string
	// Self is the path of the xdsbench executable, for kind embedded.
	Self string
	// Environ is the environment, as os.Environ returns it, from which the
	// target inherits PATH, HOME and TMPDIR if they are there.
	Environ []string
	// ReadyTimeout bounds the start; 0 means 60 seconds.
	ReadyTimeout time.Duration
	// StopGrace is how long a target may take to end by itself; 0 means 5 seconds.
	StopGrace time.Duration
	// CallTimeout bounds each request for a page of the target, such as its metrics,
	// so that one that accepts and never answers does not hold up a run. A profile may
	// take twice as long beyond the time that it observes. 0 means 10 seconds, the
	// scrape timeout of Prometheus by default.
	CallTimeout time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// Info describes a running target, or one replica of it, for the result.
type Info struct {
	Kind string
	// Version is what the target says of itself, "" if it does not say.
	Version string
	// PID is the process we started, 0 for an external target.
	PID int
	// Command is the program and its arguments, nil for an external target.
	Command []string
	// Env is all of the environment of the process, without the values of secrets.
	Env          map[string]string
	XDSAddresses []string
	MetricsURL   string
	PprofURL     string
	// Log is the path of the target's log, "" for an external target.
	Log string
}

// Target is a control plane under test that was ready once: one replica or
// several. Its methods may be called concurrently.
type Target struct {
	replicas []*Replica // fixed by Start, one at least
}

// Start starts the target, or checks that an external one can be reached, and returns when all
// its replicas are ready. ctx bounds the start alone: the target runs until Stop.
func Start(ctx context.Context, cfg Config) (*Target, error) {
	if err := cfg.Spec.Validate(); err != nil {
		return nil, err
	}
	if cfg.ReadyTimeout == 0 {
		cfg.ReadyTimeout = time.Minute
	}
	if cfg.StopGrace == 0 {
		cfg.StopGrace = 5 * time.Second
	}
	if cfg.CallTimeout == 0 {
		cfg.CallTimeout = 10 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	launches, err := newLaunches(ctx, cfg)
	if err != nil {
		return nil, err
	}
	client := newClient()
	t := &Target{}
	for i, l := range launches {
		t.replicas = append(t.replicas, &Replica{cfg: cfg, index: i, launch: l, client: client})
	}
	if err := t.each(func(r *Replica) error { return r.start(ctx) }); err != nil {
		return nil, errors.Join(err, t.Stop(context.WithoutCancel(ctx)))
	}
	info := t.Info()
	cfg.Log.Info("target ready", "kind", info.Kind, "version", info.Version, "xds", info.XDSAddresses)
	return t, nil
}

// each calls do for all replicas at once and joins the errors.
func (t *Target) each(do func(r *Replica) error) error {
	errs := make([]error, len(t.replicas))
	var wg sync.WaitGroup
	for i, r := range t.replicas {
		wg.Go(func() { errs[i] = do(r) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Replicas returns the replicas: the processes that we started, or the addresses
// of an external target.
func (t *Target) Replicas() []*Replica { return slices.Clone(t.replicas) }

// Stop stops all replicas; see [Replica.Stop].
func (t *Target) Stop(ctx context.Context) error {
	return t.each(func(r *Replica) error { return r.Stop(ctx) })
}

// Usage measures the target: the sum of its replicas' usages. The peak is the sum
// of the replicas' peaks, which may lie at different times.
func (t *Target) Usage(ctx context.Context) (Usage, error) {
	var sum Usage
	measured := false
	for _, r := range t.replicas {
		if r.unmeasured() {
			continue
		}
		u, err := r.Usage(ctx)
		if err != nil {
			return Usage{}, err
		}
		measured = true
		sum.CPUSeconds += u.CPUSeconds
		sum.RSSBytes += u.RSSBytes
		sum.PeakRSSBytes += u.PeakRSSBytes
	}
	if !measured {
		return t.replicas[0].Usage(ctx) // which says why not
	}
	return sum, nil
}

// XDSAddresses returns where the target serves ADS, HOST:PORT, replica by replica.
func (t *Target) XDSAddresses() []string {
	var all []string
	for _, r := range t.replicas {
		all = append(all, r.launch.xds...)
	}
	return all
}

// Info describes the target: its first replica, with the addresses of all.
func (t *Target) Info() Info {
	info := t.replicas[0].Info()
	info.XDSAddresses = t.XDSAddresses()
	return info
}
