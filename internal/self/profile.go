package self

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strings"
)

// Files of the harness's own profiles in the results folder.
const (
	cpuProfile  = "harness-cpu.pprof"
	heapProfile = "harness-heap.pprof"
	memoryFile  = "harness-memory.json"
)

// Profile is a profile of the harness itself, in files of the results folder.
type Profile struct {
	dir string
	cpu *os.File // nil if nothing is profiled
}

// StartProfile begins the CPU profile.
func StartProfile(dir string) (*Profile, error) {
	f, err := os.Create(filepath.Join(dir, cpuProfile))
	if err != nil {
		return nil, fmt.Errorf("profile of the harness: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("profile of the harness: %w", err), f.Close())
	}
	return &Profile{dir: dir, cpu: f}, nil
}

// Stop ends the CPU profile and writes what the memory is used for. It does
// nothing on nil.
func (p *Profile) Stop() error {
	if p == nil {
		return nil
	}
	pprof.StopCPUProfile()
	err := errors.Join(p.cpu.Close(), p.saveMemory(), p.saveHeap())
	if err != nil {
		return fmt.Errorf("profile of the harness: %w", err)
	}
	return nil
}

func (p *Profile) saveHeap() error {
	f, err := os.Create(filepath.Join(p.dir, heapProfile))
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
}

// saveMemory itemises the memory in use, in bytes, as runtime/metrics names its
// classes, before and after a garbage collection.
func (p *Profile) saveMemory() error {
	before := memoryClasses()
	runtime.GC()
	text, err := json.MarshalIndent(map[string]map[string]uint64{
		"asItWas": before, "afterGC": memoryClasses(),
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, memoryFile), append(text, '\n'), 0o644)
}

func memoryClasses() map[string]uint64 {
	var samples []metrics.Sample
	for _, d := range metrics.All() {
		if d.Kind == metrics.KindUint64 && (strings.HasPrefix(d.Name, "/memory/classes/") || strings.HasPrefix(d.Name, "/gc/heap/live") || d.Name == "/sched/goroutines:goroutines") {
			samples = append(samples, metrics.Sample{Name: d.Name})
		}
	}
	metrics.Read(samples)
	classes := make(map[string]uint64, len(samples))
	for _, s := range samples {
		classes[s.Name] = s.Value.Uint64()
	}
	return classes
}
