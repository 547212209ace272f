package target

import (
	"fmt"
	"strings"

	"github.com/xdsbench/xdsbench/internal/subprocess"
)

// tailLines is how many lines of a target's log are kept and quoted.
const tailLines = 15

// Exit says how a process of the target ended.
type Exit struct {
	// Status is "exit status 1" or "signal: killed".
	Status string
	// Log is what the process wrote last to its log: 15 lines at most, "" if it
	// wrote nothing.
	Log string
}

// String is the status, and the last line of the log.
func (e *Exit) String() string {
	last := e.Log[strings.LastIndexByte(e.Log, '\n')+1:]
	if last == "" {
		return e.Status + ", and wrote nothing to its log"
	}
	return fmt.Sprintf("%s, after %.200q", e.Status, last)
}

// Exit says how the latest process of the replica ended, of itself or by Stop or
// Kill. It is nil while the process runs, and for an external target.
func (r *Replica) Exit() *Exit {
	p := r.process()
	if p == nil || !p.Exited() {
		return nil
	}
	log, _ := r.logTail() // the status is worth having without it
	return &Exit{Status: p.ExitStatus(), Log: log}
}

// logTail returns the last lines that the latest process wrote.
func (r *Replica) logTail() (string, error) {
	r.mu.Lock()
	from := r.logStart
	r.mu.Unlock()
	return subprocess.Tail(r.logPath(), from, tailLines)
}

// logEnd is the part of an error that quotes the log.
func (r *Replica) logEnd() string {
	switch lines, err := r.logTail(); {
	case err != nil:
		return fmt.Sprintf("its log cannot be read: %v", err)
	case lines == "":
		return "it wrote nothing to its log " + r.logPath()
	default:
		return fmt.Sprintf("last lines of its log %s:\n%s", r.logPath(), lines)
	}
}
