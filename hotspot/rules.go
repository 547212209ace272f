package hotspot

import "strings"

// The parts of a control plane's work.
const (
	partProto       = "proto"       // protobuf encoding, decoding and copying
	partEDS         = "eds"         // generation, per type
	partCDS         = "cds"         //
	partLDS         = "lds"         //
	partRDS         = "rds"         //
	partPushContext = "pushContext" // the model of the mesh that pushes are made from
	partInformers   = "informers"   // the Kubernetes API: lists, watches, service registry
	partPushes      = "pushes"      // debounce, push queue, requests, ACKs
	partGRPC        = "grpc"        // gRPC, HTTP/2, TLS
	partGC          = "gc"          // garbage collection
	partSyscalls    = "syscalls"    // the kernel, mostly reading and writing sockets
	partScheduler   = "scheduler"   // goroutines, timers and locks of the Go runtime
	partMetrics     = "metrics"     // metrics, debug pages, profiling, logs
	partOther       = "other"
)

// rule gives functions to a part. A pattern that begins with "/" is looked for
// in the path of the source file, any other in the function's full name; with a
// leading "^" at its start only.
type rule struct {
	part     string
	rank     rank
	patterns []string
}

// rank says when a rule is tried.
type rank int

const (
	// owning rules are tried first: what such a function calls belongs to it.
	owning rank = iota
	// plain rules are tried frame by frame, from the innermost outwards.
	plain
	// fallback rules are tried the same way on stacks that no plain rule knows.
	fallback
	ranks
)

// rules is the one table, for istiod and for the embedded control plane. Within
// a frame the first rule that matches counts.
func rules() []rule {
	return append(runtimeRules(), []rule{
		{part: partMetrics, rank: owning, patterns: []string{
			"^net/http/pprof.", "^runtime/pprof.", "^runtime/trace.", "github.com/prometheus/client_golang/",
			"go.opentelemetry.io/otel", "istio.io/istio/pkg/monitoring.", "istio.io/istio/pkg/log.", "^go.uber.org/zap",
			"^log/slog.", "^net/http.(*conn).serve",
			"/controlplane/metrics.go", "/controlplane/debug.go",
		}},
		{part: partPushContext, rank: owning, patterns: []string{
			"xds.(*DiscoveryServer).initPushContext", "model.(*PushContext).InitContext", "model.(*PushContext).initContext",
			"model.(*PushContext).updateContext", "model.(*PushContext).createNewContext",
			"xds.(*DiscoveryServer).computeProxyState", "xds.(*DiscoveryServer).updateProxy",
		}},
		{part: partProto, rank: plain, patterns: []string{
			"^google.golang.org/protobuf/", "^github.com/planetscale/vtprotobuf", "^github.com/gogo/protobuf/",
			"^github.com/golang/protobuf/", ").MarshalVT", ").MarshalToSizedBufferVT", ").SizeVT", ").UnmarshalVT", ").CloneVT", "VTStrict",
			"^google.golang.org/grpc/encoding/proto", "/controlplane/codec.go", "/controlplane/resource.go",
			"istio.io/istio/pilot/pkg/util/protoconv.",
		}},
		{part: partInformers, rank: plain, patterns: []string{
			"^k8s.io/", "^sigs.k8s.io/", "^net/http.(*http2", "^net/http.(*Transport)", "^net/http.(*persistConn)",
			"^net/http/internal/http2", "istio.io/istio/pkg/kube", "istio.io/istio/pilot/pkg/serviceregistry/", "istio.io/istio/pkg/queue.",
			"istio.io/istio/pilot/pkg/config/", "istio.io/istio/pkg/config/", "istio.io/istio/pilot/pkg/leaderelection",
			"/controlplane/informers.go", "/controlplane/model.go", "/controlplane/registry.go",
		}},
		{part: partEDS, rank: plain, patterns: []string{
			"istio.io/istio/pilot/pkg/xds/endpoints.", "xds.(*EdsGenerator)", "xds.EdsGenerator", "xds.(*DiscoveryServer).EDS",
			"model.(*EndpointIndex)", "model.(*EndpointShards)", "xds.(*DiscoveryServer).edsCacheUpdate",
			"/controlplane/generate_eds.go",
			"controlplane.(*connection).changedEndpoints", "controlplane.(*snapshot).",
		}},
		{part: partCDS, rank: plain, patterns: []string{
			"xds.CdsGenerator", "xds.(*CdsGenerator)", "core.(*ClusterBuilder)", "core.(*ConfigGeneratorImpl).BuildClusters",
			"core.(*ConfigGeneratorImpl).BuildDeltaClusters", "/networking/core/cluster",
			"/controlplane/generate_cds.go",
			"controlplane.(*connection).changedClusters", "controlplane.(*routing).clusterBundle",
		}},
		{part: partLDS, rank: plain, patterns: []string{
			"xds.LdsGenerator", "xds.(*LdsGenerator)", "core.(*ListenerBuilder)", "core.(*ConfigGeneratorImpl).BuildListeners",
			"/controlplane/generate_lds.go", "controlplane.(*routing).listenerBundle",
		}},
		{part: partRDS, rank: plain, patterns: []string{
			"xds.RdsGenerator", "xds.(*RdsGenerator)", "istio.io/istio/pilot/pkg/networking/core/route.",
			"core.(*ConfigGeneratorImpl).BuildHTTPRoutes", "/controlplane/generate_rds.go", "controlplane.(*routing).routes",
		}},
		{part: partPushContext, rank: plain, patterns: []string{
			"model.(*PushContext)", "model.ConvertToSidecarScope", "model.convertToSidecarScope", "model.DefaultSidecarScopeForNamespace",
			"model.(*Environment).", "model.(*SidecarScope)",
			"/controlplane/snapshot.go", "/controlplane/routing.go",
		}},
		{part: partPushes, rank: fallback, patterns: []string{
			"istio.io/istio/pilot/pkg/xds.", "istio.io/istio/pkg/xds.", "istio.io/istio/pilot/pkg/model.", "^github.com/envoyproxy/go-control-plane/pkg/",
			"github.com/xdsbench/xdsbench/controlplane.", "istio.io/istio/pilot/pkg/bootstrap.",
		}},
		{part: partGRPC, rank: fallback, patterns: []string{
			"^google.golang.org/grpc", "^golang.org/x/net/http2", "^crypto/", "^golang.org/x/net/trace.",
		}},
	}...)
}

// runtimeRules are for the Go runtime and the kernel.
func runtimeRules() []rule {
	return []rule{
		{part: partGC, rank: owning, patterns: []string{
			"^runtime.gcBgMarkWorker", "^runtime.gcAssistAlloc", "^runtime.bgsweep", "^runtime.bgscavenge",
			"^runtime.gcStart", "^runtime.gcMarkDone", "^runtime.gcDrain", "^runtime.deductSweepCredit",
			"^runtime.gcMarkTermination", "^runtime.(*mheap).nextSpanForSweep", "^runtime.wbBufFlush",
		}},
		{part: partScheduler, rank: owning, patterns: []string{
			"^runtime.schedule", "^runtime.findRunnable", "^runtime.park_m", "^runtime.mcall", "^runtime.sysmon",
			"^runtime.gopreempt_m", "^runtime.goschedImpl", "^runtime.goready", "^runtime.ready", "^runtime.wakep",
			"^runtime.newproc", "^runtime.lock2", "^runtime.unlock2", "^runtime.semacquire", "^runtime.semrelease",
			"^runtime.notifyListNotify", "^runtime.selectgo", "^runtime.morestack", "^runtime.newstack",
			"^runtime.asyncPreempt", "^sync.runtime_",
		}},
		{part: partSyscalls, rank: plain, patterns: []string{
			"^internal/runtime/syscall", "^syscall.", "^runtime/internal/syscall", "^runtime.vdso", "^golang.org/x/sys/unix.",
		}},
	}
}

// frame is one function on a stack.
type frame struct{ function, file string }

func (r *rule) matches(f frame) bool {
	for _, pattern := range r.patterns {
		text := f.function
		if strings.HasPrefix(pattern, "/") {
			text = f.file
		}
		if prefix, ok := strings.CutPrefix(pattern, "^"); ok {
			if strings.HasPrefix(text, prefix) {
				return true
			}
		} else if strings.Contains(text, pattern) {
			return true
		}
	}
	return false
}

// classifier applies the table, and remembers what it found per frame.
type classifier struct {
	table []rule
	known map[frame]verdict
}

// verdict is what the table says of one frame, by rank; empty parts say nothing.
type verdict [ranks]string

func newClassifier() *classifier {
	return &classifier{table: rules(), known: make(map[frame]verdict)}
}

func (c *classifier) judge(f frame) verdict {
	v, ok := c.known[f]
	if ok {
		return v
	}
	for i := range c.table {
		if r := &c.table[i]; v[r.rank] == "" && r.matches(f) {
			v[r.rank] = r.part
		}
	}
	c.known[f] = v
	return v
}

// part returns the part that a stack, innermost frame first, belongs to.
func (c *classifier) part(stack []frame) string {
	for rank := range ranks {
		for _, f := range stack {
			if part := c.judge(f)[rank]; part != "" {
				return part
			}
		}
	}
	for _, f := range stack {
		if !strings.HasPrefix(f.function, "runtime.") {
			return partOther
		}
	}
	return partScheduler
}
