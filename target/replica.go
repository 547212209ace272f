package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/xdsbench/xdsbench/internal/subprocess"
)

// LogFile is the name, in the run's folder, of what the target wrote to its
// standard output and standard error. Further replicas have a number in it; see
// [FileOf].
const LogFile = "target.log"

// FileOf returns the name of a replica's file: as it is for the first, and with
// the number before the extension for the others, such as target-1.log.
func FileOf(name string, replica int) string {
	if replica == 0 {
		return name
	}
	extension := filepath.Ext(name)
	return strings.TrimSuffix(name, extension) + "-" + strconv.Itoa(replica) + extension
}

// Replica is one process of a target, or one address of an external one. Its
// methods may be called concurrently.
type Replica struct {
	// Fixed by Start.
	cfg     Config
	index   int
	launch  launch
	version string
	client  *http.Client

	// lifecycle serialises Stop, Kill and Restart.
	lifecycle sync.Mutex

	// mu guards what follows.
	mu       sync.Mutex
	proc     *subprocess.Process // the latest one; nil for an external target
	logStart int64               // where its part of the log begins
	used     Usage               // by the processes before proc, and the peaks seen
}

// start starts the process, or looks for an external replica.
func (r *Replica) start(ctx context.Context) error {
	var err error
	if r.cfg.Spec.Kind == KindExternal {
		err = r.awaitExternal(ctx)
	} else {
		err = r.startProcess(ctx)
	}
	if err == nil {
		r.version = r.findVersion(ctx)
	}
	return err
}

// startProcess starts the process and waits until it is ready. The process is gone if
// it returns an error.
func (r *Replica) startProcess(ctx context.Context) error {
	path := r.logPath()
	if err := os.MkdirAll(r.cfg.Dir, 0o755); err != nil {
		return fmt.Errorf("target: run folder: %w", err)
	}
	if r.launch.workDir != "" {
		if err := os.MkdirAll(r.launch.workDir, 0o755); err != nil {
			return fmt.Errorf("target: working directory: %w", err)
		}
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("target: log: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor
	logStart, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("target: log: %w", err)
	}

	// Not CommandContext: the process outlives ctx, and Stop ends its whole group.
	cmd := exec.Command(r.launch.args[0], r.launch.args[1:]...) //nolint:noctx // see above
	cmd.Dir = r.launch.workDir
	cmd.Env = entries(r.launch.env)
	cmd.Stdout, cmd.Stderr = log, log
	started := time.Now()
	priority, err := r.cfg.Spec.priority()
	if err != nil {
		return err
	}
	p, err := subprocess.Start(cmd, priority)
	if err != nil {
		return fmt.Errorf("target: start %s: %w", r.launch.args[0], err)
	}
	r.setProcess(p, logStart)
	r.cfg.Log.Debug("target started", "pid", p.PID(), "command", r.launch.args)
	if err := r.awaitReady(ctx, p); err != nil {
		return errors.Join(err, p.Stop(context.WithoutCancel(ctx), r.cfg.StopGrace), r.removeWorkDir())
	}
	r.cfg.Log.Debug("target ready", "pid", p.PID(), "after", time.Since(started))
	return nil
}

// setProcess makes p the latest process, so that what it uses until it is ready counts.
func (r *Replica) setProcess(p *subprocess.Process, logStart int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.proc != nil {
		r.used.CPUSeconds += r.proc.CPUSeconds()
	}
	r.proc, r.logStart = p, logStart
}

// Stop ends the replica, even one that was stopped with SIGSTOP: SIGTERM to its
// process group, SIGKILL after the grace period or as soon as ctx is done. What the
// leader leaves behind in its group
// is killed as soon as the leader has ended. Stopping twice, or stopping an
// external target, does nothing.
func (r *Replica) Stop(ctx context.Context) error {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
	return r.stopLocked(ctx)
}

func (r *Replica) stopLocked(ctx context.Context) error {
	p := r.process()
	if p == nil {
		return nil
	}
	// A last look at what the process used: after its end the kernel tells only
	// the processor time. One that crashed has nothing left to look at.
	_, _ = r.Usage(ctx)
	if err := p.Stop(ctx, r.cfg.StopGrace); err != nil {
		return err
	}
	return r.removeWorkDir()
}

// Kill ends the replica at once, as when its node is lost: what it was serving
// breaks off. Restart brings it back.
func (r *Replica) Kill(ctx context.Context) error {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	cancel() // no grace
	return r.stopLocked(ctx)
}

// removeWorkDir removes the directory that was made to run in, unless the target
// wrote something there.
func (r *Replica) removeWorkDir() error {
	if r.launch.workDir == "" {
		return nil
	}
	if left, err := os.ReadDir(r.launch.workDir); err != nil || len(left) > 0 {
		return nil //nolint:nilerr // gone already, or worth keeping
	}
	return os.Remove(r.launch.workDir)
}

// Restart stops the replica if it runs, and starts it again at the same addresses
// with the same command and environment; its log goes on in the same file. An
// external target cannot be restarted from here.
func (r *Replica) Restart(ctx context.Context) error {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
	if r.process() == nil {
		return errors.New("target: an external target cannot be restarted from here")
	}
	if err := r.stopLocked(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("target: restart: %w", err)
	}
	return r.startProcess(ctx)
}

// Exited is closed when the process has ended, for whatever reason: a target
// that ends before it is stopped has crashed, and Exit says how. After a Restart there is a new channel. It is nil for an external target.
func (r *Replica) Exited() <-chan struct{} {
	if p := r.process(); p != nil {
		return p.Done()
	}
	return nil
}

// XDSAddresses returns where the replica serves ADS, HOST:PORT: one, or more if
// the profile gives a command of its own several.
func (r *Replica) XDSAddresses() []string { return slices.Clone(r.launch.xds) }

// unmeasured reports whether nothing tells what the replica costs.
func (r *Replica) unmeasured() bool { return r.process() == nil && r.launch.metricsURL == "" }

// Info describes the replica.
func (r *Replica) Info() Info {
	info := Info{
		Kind:         r.cfg.Spec.Kind,
		Version:      r.version,
		Command:      slices.Clone(r.launch.args),
		XDSAddresses: r.XDSAddresses(),
		MetricsURL:   r.launch.metricsURL,
		PprofURL:     r.launch.pprofURL,
	}
	if p := r.process(); p != nil {
		info.PID = p.PID()
		info.Env = redact(r.launch.env)
		info.Log = r.logPath()
	}
	return info
}

func (r *Replica) process() *subprocess.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.proc
}

func (r *Replica) logPath() string { return filepath.Join(r.cfg.Dir, FileOf(LogFile, r.index)) }
