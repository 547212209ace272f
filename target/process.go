package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is one life of a started target: the leader of a process group.
type process struct {
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

// startProcess starts cmd in a process group of its own. The process lives until
// it exits or is stopped.
func startProcess(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid: true,
		// The leader dies with us, even if we are killed. It reaches the leader
		// alone: what a wrapper script started survives a killed harness.
		Pdeathsig: syscall.SIGKILL,
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the process, waits for its end and kills what is left of its group.
func (p *process) run(started chan<- error) {
	// Pdeathsig is sent when the thread that forked ends, not the process
	// (prctl(2), PR_SET_PDEATHSIG): this goroutine keeps its thread meanwhile.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
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
func (p *process) signal(sig syscall.Signal) { _ = syscall.Kill(-p.pid, sig) }

// exited reports whether the process has ended.
func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// exitStatus says how the process ended, such as "exit status 1".
func (p *process) exitStatus() string {
	if p.err != nil {
		return p.err.Error()
	}
	return "exit status 0"
}

// stop asks the group to end with SIGTERM, and kills it after the grace period
// or when ctx is done. It returns when the leader is reaped.
func (p *process) stop(ctx context.Context, grace time.Duration) error {
	if p.exited() {
		return nil
	}
	p.signal(syscall.SIGTERM)
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
		return fmt.Errorf("target: process %d is still there 5s after SIGKILL", p.pid)
	}
}

// tailLines is how many lines of a target's log an error quotes.
const tailLines = 15

// tail returns the last lines of the file, looking at nothing before offset and
// at no more than the last 64 KiB.
func tail(path string, offset int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	from := max(offset, end-64<<10)
	data, err := io.ReadAll(io.NewSectionReader(f, from, end-from))
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n"), nil
}
