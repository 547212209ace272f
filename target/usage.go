package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/prometheus/procfs"

	"github.com/xdsbench/xdsbench/internal/subprocess"
)

// Usage is what a target has cost so far.
type Usage struct {
	// CPUSeconds is the processor time used since we first started the target,
	// restarts included; of an external target, since its own start.
	CPUSeconds float64
	// RSSBytes is the resident memory now, 0 after the process has ended.
	RSSBytes uint64
	// PeakRSSBytes is the largest resident memory: of a process we started as the
	// kernel keeps it (VmHWM), up to the latest call before its end; of an
	// external target the largest value that Usage saw.
	PeakRSSBytes uint64
}

// Usage measures the target: a process we started, with all members of its
// process group, in /proc; an external target by the process_* metrics that
// Prometheus clients serve, and if it has none it returns an error.
func (r *Replica) Usage(ctx context.Context) (Usage, error) {
	p := r.process()
	var now Usage
	var err error
	if p == nil {
		now, err = r.scrapedUsage(ctx)
	} else {
		now, err = processUsage(p, r.cfg.Spec.Kind == KindExec)
	}
	if err != nil {
		return Usage{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// Current and peak come from two files of /proc, read one after the other: a
	// process that grows in between would have a peak below its current size.
	r.used.PeakRSSBytes = max(r.used.PeakRSSBytes, now.PeakRSSBytes, now.RSSBytes)
	now.PeakRSSBytes = r.used.PeakRSSBytes
	now.CPUSeconds += r.used.CPUSeconds
	return now, nil
}

// processUsage measures the process, or its whole group if it may have children. The
// peak of a group is the sum of its members' peaks, which may lie at different times.
func processUsage(p *subprocess.Process, group bool) (Usage, error) {
	if p.Exited() {
		return Usage{CPUSeconds: p.CPUSeconds()}, nil
	}
	leader, err := procfs.NewProc(p.PID())
	if errors.Is(err, fs.ErrNotExist) {
		<-p.Done() // it was reaped just now
		return Usage{CPUSeconds: p.CPUSeconds()}, nil
	}
	if err != nil {
		return Usage{}, fmt.Errorf("target: usage: %w", err)
	}
	members := procfs.Procs{leader}
	if group {
		if members, err = procfs.AllProcs(); err != nil {
			return Usage{}, fmt.Errorf("target: usage: %w", err)
		}
	}
	var sum Usage
	for _, member := range members {
		u, err := memberUsage(member, p.PID())
		if err != nil && member.PID == p.PID() {
			return Usage{}, fmt.Errorf("target: usage: %w", err)
		}
		// Any other process may have ended since it was listed.
		sum.CPUSeconds += u.CPUSeconds
		sum.RSSBytes += u.RSSBytes
		sum.PeakRSSBytes += u.PeakRSSBytes
	}
	return sum, nil
}

// memberUsage measures one process if it belongs to the group.
func memberUsage(member procfs.Proc, pgid int) (Usage, error) {
	stat, err := member.Stat()
	if err != nil || stat.PGRP != pgid {
		return Usage{}, err
	}
	status, err := member.NewStatus()
	if err != nil {
		return Usage{}, err
	}
	// Ticks are hundredths of a second in /proc, whatever the kernel's HZ.
	const ticksPerSecond = 100
	return Usage{
		CPUSeconds:   max(stat.CPUTime(), scheduled(member)) + float64(stat.CUTime+stat.CSTime)/ticksPerSecond,
		RSSBytes:     uint64(max(0, stat.ResidentMemory())),
		PeakRSSBytes: status.VmHWM,
	}, nil
}

// scheduled is the processor time in seconds of a process's present threads to the
// nanosecond, where the kernel keeps it; without those of threads that have ended.
func scheduled(member procfs.Proc) float64 {
	threads, err := procfs.AllThreads(member.PID)
	if err != nil {
		return 0
	}
	var ns uint64
	for _, t := range threads {
		if s, err := t.Schedstat(); err == nil {
			ns += s.RunningNanoseconds
		}
	}
	return float64(ns) / 1e9
}

// scrapedUsage reads the process collector's metrics.
func (r *Replica) scrapedUsage(ctx context.Context) (Usage, error) {
	text, err := r.Scrape(ctx)
	if err != nil {
		return Usage{}, err
	}
	parsed, err := families(text)
	if err != nil {
		return Usage{}, fmt.Errorf("target: usage: metrics of %s: %w", r.launch.metricsURL, err)
	}
	cpu, hasCPU := value(parsed["process_cpu_seconds_total"])
	rss, hasRSS := value(parsed["process_resident_memory_bytes"])
	if !hasCPU || !hasRSS {
		return Usage{}, errors.New("target: usage: " + r.launch.metricsURL + " has no process_cpu_seconds_total and process_resident_memory_bytes")
	}
	return Usage{CPUSeconds: cpu, RSSBytes: uint64(rss), PeakRSSBytes: uint64(rss)}, nil
}
