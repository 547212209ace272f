package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/xdsbench/xdsbench/internal/subprocess"
)

// LogFile is the name, in the run's folder, of what the target wrote to its
// standard output and standard error.
const LogFile = "target.log"

// niceness is how far the target gives way to the harness where both want the
// same processor. A message that waits for its time stamp makes a wrong number;
// a control plane that waits is what the number is about.
const niceness = 5

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
	// StopGrace is how long a target may take to end by itself; 0 means 10 seconds.
	StopGrace time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// Info describes a running target for the result.
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

// Target is a control plane under test that was ready once. Its methods may be
// called concurrently.
type Target struct {
	// Fixed by Start.
	cfg     Config
	launch  launch
	version string
	client  *http.Client

	// life serialises Stop and Restart.
	life sync.Mutex

	// mu guards what follows.
	mu   sync.Mutex
	proc *subprocess.Process // the latest life; nil for an external target
	used Usage               // by the lives before proc, and the peaks seen
}

// Start starts the target, or looks for an external one, and returns when it is
// ready. ctx bounds the start alone: the target runs until Stop.
func Start(ctx context.Context, cfg Config) (*Target, error) {
	if err := cfg.Spec.Validate(); err != nil {
		return nil, err
	}
	if cfg.ReadyTimeout == 0 {
		cfg.ReadyTimeout = time.Minute
	}
	if cfg.StopGrace == 0 {
		cfg.StopGrace = 10 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l, err := newLaunch(ctx, cfg)
	if err != nil {
		return nil, err
	}
	t := &Target{cfg: cfg, launch: l, client: &http.Client{
		// Loopback or a stated address, a few requests a minute: no proxy, and
		// no idle connection for the target to hold.
		Transport: &http.Transport{DisableKeepAlives: true},
	}}
	if cfg.Spec.Kind == KindExternal {
		err = t.awaitExternal(ctx)
	} else {
		err = t.begin(ctx)
	}
	if err != nil {
		return nil, err
	}
	t.version = t.findVersion(ctx)
	cfg.Log.Info("target ready", "kind", cfg.Spec.Kind, "version", t.version, "xds", l.xds)
	return t, nil
}

// begin starts a life of the process and waits until it is ready. The process is
// gone if it returns an error.
func (t *Target) begin(ctx context.Context) error {
	path := t.logPath()
	if err := os.MkdirAll(t.cfg.Dir, 0o755); err != nil {
		return fmt.Errorf("target: run folder: %w", err)
	}
	if t.launch.workDir != "" {
		if err := os.MkdirAll(t.launch.workDir, 0o755); err != nil {
			return fmt.Errorf("target: working directory: %w", err)
		}
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("target: log: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor
	offset, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("target: log: %w", err)
	}

	// Not CommandContext: the process outlives ctx, and Stop ends its whole group.
	cmd := exec.Command(t.launch.args[0], t.launch.args[1:]...) //nolint:noctx // see above
	cmd.Dir = t.launch.workDir
	cmd.Env = entries(t.launch.env)
	cmd.Stdout, cmd.Stderr = log, log
	started := time.Now()
	p, err := subprocess.Start(cmd)
	if err != nil {
		return fmt.Errorf("target: start %s: %w", t.launch.args[0], err)
	}
	if err := p.Yield(niceness); err != nil && !p.Exited() {
		t.cfg.Log.Warn("the target does not give way to the harness", "error", err)
	}
	t.cfg.Log.Debug("target started", "pid", p.PID(), "command", t.launch.args)
	if err := t.awaitReady(ctx, p, offset); err != nil {
		return errors.Join(err, p.Stop(context.WithoutCancel(ctx), t.cfg.StopGrace), t.removeWorkDir())
	}
	t.cfg.Log.Debug("target ready", "pid", p.PID(), "after", time.Since(started))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.proc != nil {
		t.used.CPUSeconds += t.proc.CPUSeconds()
	}
	t.proc = p
	return nil
}

// Stop ends the target: SIGTERM to its process group, SIGKILL after the grace
// period or as soon as ctx is done. What the leader leaves behind in its group
// is killed as soon as the leader has ended. Stopping twice, or stopping an
// external target, does nothing.
func (t *Target) Stop(ctx context.Context) error {
	t.life.Lock()
	defer t.life.Unlock()
	return t.stopLocked(ctx)
}

func (t *Target) stopLocked(ctx context.Context) error {
	p := t.process()
	if p == nil {
		return nil
	}
	// A last look at what the process used: after its end the kernel tells only
	// the processor time. One that crashed has nothing left to look at.
	_, _ = t.Usage(ctx)
	if err := p.Stop(ctx, t.cfg.StopGrace); err != nil {
		return err
	}
	return t.removeWorkDir()
}

// Kill ends the target at once, as when its node is lost: what it was serving
// breaks off. Restart brings it back.
func (t *Target) Kill(ctx context.Context) error {
	t.life.Lock()
	defer t.life.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	cancel() // no grace
	return t.stopLocked(ctx)
}

// removeWorkDir removes the directory that was made to run in, unless the target
// wrote something there.
func (t *Target) removeWorkDir() error {
	if t.launch.workDir == "" {
		return nil
	}
	if left, err := os.ReadDir(t.launch.workDir); err != nil || len(left) > 0 {
		return nil //nolint:nilerr // gone already, or worth keeping
	}
	return os.Remove(t.launch.workDir)
}

// Restart stops the target if it runs, and starts it again at the same addresses
// with the same command and environment; its log goes on in the same file. An
// external target cannot be restarted from here.
func (t *Target) Restart(ctx context.Context) error {
	t.life.Lock()
	defer t.life.Unlock()
	if t.process() == nil {
		return errors.New("target: an external target cannot be restarted from here")
	}
	if err := t.stopLocked(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("target: restart: %w", err)
	}
	return t.begin(ctx)
}

// Exited is closed when the process has ended, for whatever reason: a target
// that ends before it is stopped has crashed, and ExitError says how. After a
// Restart there is a new channel. It is nil for an external target.
func (t *Target) Exited() <-chan struct{} {
	if p := t.process(); p != nil {
		return p.Done()
	}
	return nil
}

// ExitError says how the process ended, with the last lines of its log. It is
// nil while the process runs, and for an external target.
func (t *Target) ExitError() error {
	p := t.process()
	if p == nil || !p.Exited() {
		return nil
	}
	return t.withTail(fmt.Errorf("target: process %d ended: %s", p.PID(), p.ExitStatus()), 0)
}

// XDSAddresses returns where the target serves ADS, HOST:PORT; one per replica.
func (t *Target) XDSAddresses() []string { return slices.Clone(t.launch.xds) }

// Info describes the target.
func (t *Target) Info() Info {
	info := Info{
		Kind:         t.cfg.Spec.Kind,
		Version:      t.version,
		Command:      slices.Clone(t.launch.args),
		XDSAddresses: t.XDSAddresses(),
		MetricsURL:   t.launch.metricsURL,
		PprofURL:     t.launch.pprofURL,
	}
	if p := t.process(); p != nil {
		info.PID = p.PID()
		info.Env = redact(t.launch.env)
		info.Log = t.logPath()
	}
	return info
}

func (t *Target) process() *subprocess.Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.proc
}

func (t *Target) logPath() string { return filepath.Join(t.cfg.Dir, LogFile) }
