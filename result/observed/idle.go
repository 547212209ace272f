package observed

// Idle is what a control plane did while its proxies were connected and nothing
// changed. What it does not tell is absent.
type Idle struct {
	WallSeconds float64 `json:"wallSeconds" unit:"s"`
	CPUSeconds  float64 `json:"cpuSeconds" unit:"s"`
	// AllocatedBytes are those of its heap's allocations, freed ones included; Pushes
	// the responses that it sent by its own count.
	AllocatedBytes *float64 `json:"allocatedBytes,omitempty" unit:"bytes"`
	Pushes         *float64 `json:"pushes,omitempty"`
	// Per second.
	Cores                   float64  `json:"cores"`
	AllocatedBytesPerSecond *float64 `json:"allocatedBytesPerSecond,omitempty" unit:"bytes"`
	PushesPerSecond         *float64 `json:"pushesPerSecond,omitempty"`
}

// NewIdle works out what an idle span did per second.
func NewIdle(wall, cpu float64, allocated, pushes *float64) *Idle {
	i := &Idle{WallSeconds: wall, CPUSeconds: cpu, AllocatedBytes: allocated, Pushes: pushes}
	if wall > 0 {
		i.Cores = cpu / wall
		i.AllocatedBytesPerSecond, i.PushesPerSecond = ratio(allocated, wall), ratio(pushes, wall)
	}
	return i
}

func ratio(n *float64, by float64) *float64 {
	if n == nil {
		return nil
	}
	return new(*n / by)
}

// Net is what of the processor time and allocated bytes of a span is beyond what idle
// uses in the same time; below zero where noise is larger than the load. An Idle that
// is nil tells nothing.
func (i *Idle) Net(wall, cpu float64, allocated *float64) (netCPU, netAllocated *float64) {
	if i == nil {
		return nil, nil
	}
	if allocated != nil && i.AllocatedBytesPerSecond != nil {
		netAllocated = new(*allocated - *i.AllocatedBytesPerSecond*wall)
	}
	return new(cpu - i.Cores*wall), netAllocated
}

// AddNet works the net figures of a cost out.
func (c *Cost) AddNet(idle *Idle) {
	c.NetCPUSeconds, c.NetAllocatedBytes = idle.Net(c.WallSeconds, c.CPUSeconds, c.AllocatedBytes)
}
