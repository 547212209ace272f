package sizing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/target"
)

// Point is what one run shows of size, load and cost. Figures that the run did
// not measure are nil.
type Point struct {
	// Run is the run's folder.
	Run string `json:"run"`
	// Size is what the profile asked for.
	Size
	// Ready is how many proxies became ready.
	Ready int `json:"ready"`
	// PushRate and ByteRate are responses and their bytes per second of the steady
	// phase, summed over all proxies; those that came in the drain are counted.
	// PushesPerMutation is responses per mutation and proxy.
	PushRate          float64 `json:"pushesPerSecond"`
	ByteRate          float64 `json:"bytesPerSecond"`
	PushesPerMutation float64 `json:"pushesPerMutation"`
	// ConfigBytes is the mean size of what a proxy holds.
	ConfigBytes float64 `json:"configBytesPerProxy"`
	// Duty is the steady phase's share of the time that Cores is a mean of: the
	// drain is in it too.
	Duty float64 `json:"duty"`
	// Cores and ConnectCPU (seconds) are of steady load, drain included, and of the
	// time outside it.
	Cores      *float64 `json:"cores,omitempty"`
	ConnectCPU *float64 `json:"connectCPUSeconds,omitempty"`
	PeakRSS    *float64 `json:"peakRSSBytes,omitempty"`
	// HarnessCores is what the harness used beside it, and CPUs what both shared.
	HarnessCores *float64 `json:"harnessCores,omitempty"`
	CPUs         int      `json:"cpus,omitempty"`
	// P99 is the 99th percentile of propagation.all, in seconds; P99Note qualifies it:
	// "max of 60" where the samples are too few for it.
	P99     *float64 `json:"p99Seconds,omitempty"`
	P99Note string   `json:"p99Note,omitempty"`
	// Replicas is how many the control plane had, if several: costs are their sums.
	Replicas int `json:"replicas,omitempty"`
	// Questionable is why the point is not in the fits of CPU and latency; empty for
	// a valid run.
	Questionable []string `json:"doubts,omitempty"`
	// Setting says what must be equal for points to be comparable.
	Setting string `json:"setting"`
	// Environment is where the run was made.
	Environment *result.Environment `json:"environment,omitempty"`
}

// Size is the size of a mesh and its load.
type Size struct {
	Proxies  float64 `json:"proxies"`
	Services float64 `json:"services"`
	// Endpoints is how many each service has.
	Endpoints float64 `json:"endpointsPerService"`
	// Rate is the mutations per second.
	Rate float64 `json:"mutationsPerSecond"`
}

// bytesPerPush is the mean size of a response; zero without one.
func (p Point) bytesPerPush() float64 {
	if p.PushRate == 0 {
		return 0
	}
	return p.ByteRate / p.PushRate
}

// SizeOf returns the size that a profile asks for.
func SizeOf(p *profiles.Profile) Size {
	s := Size{
		Proxies: float64(p.Proxies.Count), Services: float64(p.Mesh.Services),
		Endpoints: float64(p.Mesh.EndpointsPerService),
	}
	for _, c := range p.Churn {
		s.Rate += float64(c.Rate)
	}
	return s
}

// pointOf reads a result that is saved in the folder run.
func pointOf(run string, r *result.Result) (Point, error) {
	var profile profiles.Profile
	if err := json.Unmarshal(r.Profile, &profile); err != nil {
		return Point{}, fmt.Errorf("the profile in %s: %w", run, err)
	}
	p := Point{Run: run, Size: SizeOf(&profile), Questionable: experiment.Questionable(r), Environment: r.Environment}
	if r.Proxies != nil {
		p.Ready = r.Proxies.Ready
	}
	if r.Sync != nil && r.Sync.ConfigBytesPerProxy != nil {
		p.ConfigBytes = r.Sync.ConfigBytesPerProxy.Mean
	}
	if r.Propagation != nil && r.Propagation.All != nil {
		p.P99, p.P99Note = new(r.Propagation.All.P99), r.Propagation.All.Mark("p99")
	}
	if r.ControlPlane != nil {
		p.Replicas = len(r.ControlPlane.Replicas)
	}
	external := profile.Target.Kind == target.KindExternal // maybe on another machine, and older than the run
	if r.Environment != nil && !external {
		p.CPUs = r.Environment.CPUs
	}
	if r.Harness != nil {
		p.HarnessCores = r.Harness.SteadyCores
	}
	p.addCost(r, profile.Phases.Steady.Seconds())
	if external {
		p.ConnectCPU = nil
	}
	p.Setting = setting(&profile, r)
	return p, nil
}

// addCost reads what the control plane used, and for how many pushes, in a steady
// phase of this many seconds.
func (p *Point) addCost(r *result.Result, steady float64) {
	c := r.ControlPlane
	if c == nil {
		return
	}
	if c.PeakRSSBytes != nil {
		p.PeakRSS = new(float64(*c.PeakRSSBytes))
	}
	if c.Steady == nil || c.Steady.WallSeconds <= 0 || steady <= 0 || r.Volume == nil {
		return
	}
	p.Cores = new(c.Steady.Cores)
	if c.CPUSeconds != nil {
		p.ConnectCPU = new(*c.CPUSeconds - c.Steady.CPUSeconds)
	}
	var responses, bytes int64
	for _, t := range r.Volume.ByType {
		responses, bytes = responses+t.Responses, bytes+t.Bytes
	}
	p.PushRate, p.ByteRate, p.Duty = float64(responses)/steady, float64(bytes)/steady, steady/c.Steady.WallSeconds
	if m := r.Mutations; m != nil && m.Applied > 0 && p.Ready > 0 {
		p.PushesPerMutation = float64(responses) / float64(m.Applied) / float64(p.Ready)
	}
}

// setting writes what a cost depends on beside size and load.
func setting(p *profiles.Profile, r *result.Result) string {
	parts := []string{p.Target.Kind, p.Proxies.Variant + " proxies"}
	if c := r.ControlPlane; c != nil && c.Version != "" {
		parts = append(parts, "version "+c.Version)
	}
	if c := r.ControlPlane; c != nil && len(c.Replicas) > 1 {
		parts = append(parts, fmt.Sprintf("%d replicas", len(c.Replicas)))
	}
	if len(p.Target.Env) > 0 {
		parts = append(parts, fmt.Sprint(p.Target.Env))
	}
	if e := r.Environment; e != nil {
		parts = append(parts, fmt.Sprintf("on %d CPUs (%s)", e.CPUs, e.CPUModel))
	}
	return strings.Join(parts, ", ")
}

// Load reads all results in folders and below them, in the order of their names,
// each once. Runs that were cut short are left out. A folder without any result is
// an error; so is a result that cannot be read.
func Load(folders ...string) ([]Point, error) {
	var points []Point
	var errs []error
	seen := make(map[string]bool)
	for _, folder := range folders {
		results := 0
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() != result.ResultFile {
				return err
			}
			results++
			dir := filepath.Dir(path)
			full, err := filepath.Abs(dir)
			if err != nil || seen[full] {
				return err
			}
			seen[full] = true
			r, err := result.Load(dir)
			if err != nil || r.Partial {
				return err
			}
			p, err := pointOf(dir, r)
			points = append(points, p)
			return err
		})
		if err == nil && results == 0 {
			err = fmt.Errorf("%w in %s or below it: there is no %s; give the folder of a run, a sweep or a search", result.ErrNoResult, folder, result.ResultFile)
		}
		errs = append(errs, err)
	}
	return points, errors.Join(errs...)
}
