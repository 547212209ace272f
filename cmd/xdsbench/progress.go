package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/xdsbench/xdsbench/harness"
)

// plainEvery is the time between progress lines where there is no terminal.
const plainEvery = 5 * time.Second

// progress shows what a run is doing: one live line on a terminal, a plain
// line every few seconds and at each change of phase otherwise.
type progress struct {
	w     io.Writer
	quiet bool
	live  bool
	width int
	step  string // before every line; owned by update's caller

	mu    sync.Mutex // guards the fields below
	phase harness.Phase
	last  time.Time
	shown bool
}

func newProgress(w io.Writer, quiet bool) *progress {
	p := &progress{w: w, quiet: quiet, width: 100}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.live = true
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
			p.width = width - 1
		}
	}
	return p
}

// update shows s. It is the harness's progress callback.
func (p *progress) update(s harness.Status) {
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.step + describe(s)
	if p.live {
		if len(line) > p.width {
			line = line[:p.width]
		}
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		p.shown = true
		return
	}
	if s.Phase == p.phase && time.Since(p.last) < plainEvery {
		return
	}
	p.phase, p.last = s.Phase, time.Now()
	fmt.Fprintln(p.w, line)
}

// done clears the live line.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func describe(s harness.Status) string {
	head := fmt.Sprintf("%-8s %5s", s.Phase, s.Elapsed.Round(time.Second))
	if s.Limit > 0 {
		head += " of " + s.Limit.Round(time.Second).String()
	}
	var parts []string
	switch s.Phase {
	case harness.PhaseStart, harness.PhaseStop:
		parts = append(parts, s.Detail)
	case harness.PhaseConnect:
		parts = append(parts, fmt.Sprintf("connected %d, ready %d of %d", s.Connected, s.Ready, s.Want))
		if s.Refused > 0 {
			parts = append(parts, fmt.Sprintf("refused %d", s.Refused))
		}
	case harness.PhaseHold:
		parts = append(parts, fmt.Sprintf("ready %d of %d", s.Ready, s.Want), fmt.Sprintf("responses %d, refused %d", s.Responses, s.Refused))
	case harness.PhaseWarmup, harness.PhaseIdle, harness.PhaseSteady, harness.PhaseDrain:
		parts = append(parts, fmt.Sprintf("ready %d of %d", s.Ready, s.Want),
			fmt.Sprintf("mutations %d of %d", s.Issued, s.Scheduled),
			fmt.Sprintf("deliveries %d, pending %d", s.Deliveries, s.Pending))
	}
	return head + "  " + strings.Join(parts, "  ")
}
