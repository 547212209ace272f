package self

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/xdsbench/xdsbench/result"
)

// Host describes the machine and the Go runtime that this process runs on. What
// the system does not tell is left out, and the error says why.
func Host() (*result.Environment, error) {
	e := &result.Environment{
		Versions:   map[string]string{"go": runtime.Version()},
		CPUs:       runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		OS:         runtime.GOOS + "/" + runtime.GOARCH,
	}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return e, fmt.Errorf("describing the host: %w", err)
	}
	return e, errors.Join(addCPU(e, fs), addMemory(e, fs), addKernel(e, fs))
}

func addCPU(e *result.Environment, fs procfs.FS) error {
	cpus, err := fs.CPUInfo()
	if err != nil {
		return fmt.Errorf("describing the CPU: %w", err)
	}
	if len(cpus) > 0 {
		e.CPUModel = cpus[0].ModelName
	}
	return nil
}

func addMemory(e *result.Environment, fs procfs.FS) error {
	memory, err := fs.Meminfo()
	if err != nil {
		return fmt.Errorf("describing the memory: %w", err)
	}
	if memory.MemTotalBytes != nil {
		e.Memory = int64(*memory.MemTotalBytes)
	}
	return nil
}

func addKernel(e *result.Environment, fs procfs.FS) error {
	release, err := fs.SysctlStrings("kernel.osrelease")
	if err != nil {
		return fmt.Errorf("describing the kernel: %w", err)
	}
	e.Kernel = strings.Join(release, " ")
	return nil
}
