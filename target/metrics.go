package target

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
)

// Errors of calls for something that the target is not known to serve.
var (
	ErrNoMetrics = errors.New("target: no metrics: set target.metricsURL, or pass {metrics} to the command")
	ErrNoSyncz   = errors.New("target: no page /debug/syncz: only istiod and the embedded control plane have one")
	ErrNoPprof   = errors.New("target: no profiles: set target.pprofURL, or pass {pprof} to the command")
)

// Scrape returns the target's metrics in the Prometheus text format, as served
// but for the names in Spec.MetricNames.
// It returns ErrNoMetrics if it is not known where they are.
func (r *Replica) Scrape(ctx context.Context) ([]byte, error) {
	if r.launch.metricsURL == "" {
		return nil, ErrNoMetrics
	}
	body, err := r.page(ctx, r.launch.metricsURL, pageSize)
	if err != nil {
		return nil, fmt.Errorf("target: scrape: %w", err)
	}
	return rename(body, r.cfg.Spec.MetricNames), nil
}

// Syncz returns istiod's page /debug/syncz, JSON that lists per proxy and type the
// nonces last sent and last ACKed. It returns ErrNoSyncz if the target has none.
func (r *Replica) Syncz(ctx context.Context) ([]byte, error) {
	if r.launch.synczURL == "" {
		return nil, ErrNoSyncz
	}
	return r.page(ctx, r.launch.synczURL, pageSize)
}

// FetchProfile returns a profile of the target in pprof's format. Kind is "cpu",
// or the name of a runtime profile such as "heap", "allocs", "goroutine",
// "mutex" or "block", or "trace", an execution trace in a format of its own.
// Seconds is how long to observe; 0 means a snapshot, which "cpu" and "trace" do
// not have. The target collects its garbage before a snapshot of the heap, which
// would otherwise show the state at the end of its last collection. It returns
// ErrNoPprof if it is not known where profiles are.
func (r *Replica) FetchProfile(ctx context.Context, kind string, seconds int) ([]byte, error) {
	if r.launch.pprofURL == "" {
		return nil, ErrNoPprof
	}
	kinds := []string{"cpu", "heap", "allocs", "goroutine", "mutex", "block", "threadcreate", "trace"}
	if !slices.Contains(kinds, kind) {
		return nil, fmt.Errorf("target: profile %q: must be one of %s", kind, strings.Join(kinds, ", "))
	}
	if seconds < 0 || seconds == 0 && (kind == "cpu" || kind == "trace") {
		return nil, fmt.Errorf("target: profile %s of %d seconds: must be at least 1", kind, seconds)
	}
	address := r.launch.pprofURL + "/" + kind
	if kind == "cpu" {
		address = r.launch.pprofURL + "/profile"
	}
	if seconds > 0 {
		address += "?seconds=" + strconv.Itoa(seconds)
	} else if kind == "heap" {
		address += "?gc=1"
	}
	body, err := r.get(ctx, address, profileSize, time.Duration(seconds)*time.Second+2*r.cfg.CallTimeout)
	if err != nil {
		return nil, fmt.Errorf("target: profile %s: %w", kind, err)
	}
	return body, nil
}

// CheckPprof makes sure that profiles come from the control plane and not from another
// process, such as this one, by the command line that net/http/pprof serves. It
// returns ErrNoPprof if it is not known where they are.
func (r *Replica) CheckPprof(ctx context.Context) error {
	base := r.launch.pprofURL
	if base == "" {
		return ErrNoPprof
	}
	body, err := r.page(ctx, base+"/cmdline", shortSize)
	if err != nil {
		return fmt.Errorf("target: whether %s serves the profiles of the control plane: %w", base, err)
	}
	theirs := strings.Split(string(body), "\x00")
	ours, err := ownCommand()
	if err != nil {
		return fmt.Errorf("target: whether %s serves the profiles of the control plane: %w", base, err)
	}
	if slices.Equal(theirs, ours) {
		return fmt.Errorf("target: %s serves the profiles of this process, not of the control plane: correct target.pprofURL", base)
	}
	// An exec command may well be a script that starts the server.
	kind := r.cfg.Spec.Kind
	if (kind == KindEmbedded || kind == KindIstiod) && !slices.Equal(theirs, r.launch.args) {
		return fmt.Errorf("target: %s serves the profiles of another process: %.200q", base, theirs)
	}
	return nil
}

// ownCommand returns this process's command line.
func ownCommand() ([]string, error) {
	self, err := procfs.Self()
	if err != nil {
		return nil, err
	}
	return self.CmdLine()
}

// findVersion asks the target what it is: by its /version page, beside the
// metrics if it is not ours; failing that, by what Go built into the program.
func (r *Replica) findVersion(ctx context.Context) string {
	address := r.launch.versionURL
	if address == "" && r.launch.metricsURL != "" {
		if u, err := url.Parse(r.launch.metricsURL); err == nil {
			address = u.ResolveReference(&url.URL{Path: "/version"}).String()
		}
	}
	if address != "" {
		if body, err := r.page(ctx, address, shortSize); err == nil && len(body) <= 512 && !bytes.ContainsAny(body, "<\x00") {
			return strings.TrimSpace(string(body))
		}
	}
	if r.cfg.Spec.Kind != KindExec {
		return ""
	}
	info, err := buildinfo.ReadFile(r.launch.args[0])
	if err != nil {
		return "" // not a Go program
	}
	version := info.Path + " " + info.Main.Version
	i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs.revision" })
	if i < 0 {
		return version
	}
	return version + " " + info.Settings[i].Value
}

// families parses metrics in the Prometheus text format.
func families(text []byte) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(text))
}

// value returns the value of the only series of a gauge, counter or untyped family.
func value(family *dto.MetricFamily) (float64, bool) {
	if family == nil || len(family.GetMetric()) != 1 {
		return 0, false
	}
	m := family.GetMetric()[0]
	switch {
	case m.Gauge != nil:
		return m.GetGauge().GetValue(), true
	case m.Counter != nil:
		return m.GetCounter().GetValue(), true
	case m.Untyped != nil:
		return m.GetUntyped().GetValue(), true
	}
	return 0, false
}
