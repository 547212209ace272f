package subprocess

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Priority is how a process fares where it and ours want the same processor.
type Priority int

const (
	// Same gets as much of it as we do.
	Same Priority = iota
	// Low gets less: its niceness is 5 above ours.
	Low
	// Idle gives it to us at once, and gets what nobody else on the machine wants:
	// SCHED_IDLE of sched(7).
	Idle
)

// apply gives the calling thread, and so what it starts, a priority. It may not be
// possible to take it back.
func (p Priority) apply() error {
	switch p {
	case Low:
		raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
		if err != nil {
			return fmt.Errorf("niceness: %w", err)
		}
		const rawZero = 20 // the system call returns 20 less the niceness
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, rawZero-raw+5); err != nil {
			return fmt.Errorf("set niceness: %w", err)
		}
	case Idle:
		a := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
		if err := unix.SchedSetAttr(0, a, 0); err != nil {
			return fmt.Errorf("set SCHED_IDLE: %w", err)
		}
	case Same:
	}
	return nil
}

// Process is a started program: the leader of a process group.
type Process struct {
	// Fixed once started.
	cmd *exec.Cmd
	pid int

	// done is closed when the leader has been reaped and its group killed; the
	// fields below may be read after that.
	done chan struct{}
	// err is nil for exit status 0, otherwise an *exec.ExitError.
	err error
	// cpuSeconds is the processor time of the leader and the children it waited for.
	cpuSeconds float64
}

// Start starts cmd with a priority in a process group of its own, and sets its
// SysProcAttr for that. The process runs until it exits or is stopped. Its output
// must go to files: waiting for the end of a pipe would mean waiting for whatever
// else the group leaves running.
func Start(cmd *exec.Cmd, priority Priority) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid: true,
		// The leader dies with us, even if we are killed. It reaches the leader
		// alone: what a wrapper script started survives a killed harness.
		Pdeathsig: syscall.SIGKILL,
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(priority, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the process, waits for its end and kills what is left of its group.
func (p *Process) run(priority Priority, started chan<- error) {
	// Pdeathsig is sent when the thread that forked ends, not the process
	// (prctl(2), PR_SET_PDEATHSIG): this goroutine keeps its thread meanwhile. The
	// thread has the process's priority, and no other goroutine gets it afterwards:
	// it ends with this one.
	runtime.LockOSThread()
	err := priority.apply()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		started <- err
		return
	}
	p.pid = p.cmd.Process.Pid
	started <- nil

	// While the leader is a zombie, its number cannot be given to another
	// group: what is left of the group is killed before the leader is reaped.
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.signal(syscall.SIGKILL)
	p.err = p.cmd.Wait()
	if state := p.cmd.ProcessState; state != nil {
		p.cpuSeconds = (state.UserTime() + state.SystemTime()).Seconds()
	}
	close(p.done)
}

// signal sends a signal to the group. A group without members is no error.
func (p *Process) signal(sig syscall.Signal) { _ = syscall.Kill(-p.pid, sig) }

// PID returns the number of the process, and of its group.
func (p *Process) PID() int { return p.pid }

// Done is closed when the process has been reaped and its group killed.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exited reports whether Done is closed.
func (p *Process) Exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ExitStatus says how the process ended, such as "exit status 1" or "signal:
// killed". It may be called once Exited.
func (p *Process) ExitStatus() string {
	if p.err != nil {
		return p.err.Error()
	}
	return "exit status 0"
}

// CPUSeconds returns the processor time of the process and of the children it
// waited for. It may be called once Exited.
func (p *Process) CPUSeconds() float64 { return p.cpuSeconds }

// Stop asks the group to end with SIGTERM, and kills it after the grace period
// or when ctx is done. A group that was stopped with SIGSTOP is continued, so that
// it can end in good order. Stop returns when the leader is reaped; what the leader
// leaves behind in its group is killed then. Stopping twice does nothing.
func (p *Process) Stop(ctx context.Context, grace time.Duration) error {
	if p.Exited() {
		return nil
	}
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT) // a stopped process acts on nothing else but SIGKILL
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	p.signal(syscall.SIGKILL)
	// A process in uninterruptible sleep does not die of SIGKILL.
	timer.Reset(5 * time.Second)
	select {
	case <-p.done:
		return nil
	case <-timer.C:
		return fmt.Errorf("process %d is still there 5s after SIGKILL", p.pid)
	}
}
