package hotspot_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/hotspot"
)

// stack is one sample of a synthetic profile: its value, and its functions from
// the innermost outwards, each "NAME" or "NAME FILE".
type stack struct {
	value  int64
	frames []string
}

// encode makes a profile of one sample type.
func encode(t *testing.T, sampleType string, stacks ...stack) []byte {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: sampleType, Unit: "units"}}}
	known := make(map[string]*profile.Location)
	for _, s := range stacks {
		sample := &profile.Sample{Value: []int64{1, s.value}}
		for _, text := range s.frames {
			l := known[text]
			if l == nil {
				name, file, _ := strings.Cut(text, " ")
				id := uint64(len(known) + 1)
				f := &profile.Function{ID: id, Name: name, Filename: file}
				l = &profile.Location{ID: id, Line: []profile.Line{{Function: f}}}
				known[text] = l
				p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			}
			sample.Location = append(sample.Location, l)
		}
		p.Sample = append(p.Sample, sample)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestEachStackBelongsToTheRightPart(t *testing.T) {
	const (
		istio   = "istio.io/istio/pilot/pkg/"
		ours    = "github.com/xdsbench/xdsbench/controlplane."
		source  = " github.com/xdsbench/xdsbench/controlplane/"
		handler = "google.golang.org/grpc.(*Server).handleStream"
	)
	for _, test := range []struct {
		what, part string
		frames     []string
	}{
		{"marshalling within EDS generation", "proto", []string{"runtime.memmove", "google.golang.org/protobuf/proto.MarshalOptions.marshal", istio + "xds.(*EdsGenerator).GenerateDeltas", istio + "xds.(*DiscoveryServer).pushDeltaXds", handler}},
		{"maps and model helpers within EDS generation", "eds", []string{"runtime.mapaccess2_faststr", istio + "model.ParseSubsetKeyHostname", istio + "xds.(*EdsGenerator).buildEndpoints", handler}},
		{"clusters", "cds", []string{"sort.Strings", istio + "networking/core.(*ClusterBuilder).buildCluster", istio + "xds.CdsGenerator.GenerateDeltas"}},
		{"listeners", "lds", []string{"strings.Join", istio + "networking/core.(*ListenerBuilder).buildSidecarOutboundListeners", istio + "xds.LdsGenerator.Generate"}},
		{"routes", "rds", []string{istio + "networking/core.generateVirtualHostDomains", istio + "networking/core.(*ConfigGeneratorImpl).BuildHTTPRoutes", istio + "xds.RdsGenerator.Generate"}},
		{"push context and what it calls", "pushContext", []string{"google.golang.org/protobuf/proto.Clone", istio + "model.(*PushContext).initServiceRegistry", istio + "xds.(*DiscoveryServer).initPushContext"}},
		{"push queue", "pushes", []string{istio + "xds.(*PushQueue).Dequeue", istio + "xds.doSendPushes"}},
		{"ACKs", "pushes", []string{"runtime.mapassign", istio + "xds.(*DiscoveryServer).processDeltaRequest", handler}},
		{"gRPC's writer", "grpc", []string{"bytes.(*Buffer).Write", "golang.org/x/net/http2/hpack.(*Encoder).WriteField", "google.golang.org/grpc/internal/transport.(*loopyWriter).run"}},
		{"a socket write", "syscalls", []string{"internal/runtime/syscall/linux.Syscall6", "syscall.write", "net.(*conn).Write", "google.golang.org/grpc/internal/transport.(*loopyWriter).run"}},
		{"decoding a watch event", "informers", []string{"k8s.io/api/discovery/v1.(*Endpoint).Unmarshal", "k8s.io/client-go/tools/cache.(*Reflector).watchHandler"}},
		{"service registry", "informers", []string{istio + "serviceregistry/kube/controller.(*endpointSliceController).onEvent"}},
		{"GC worker", "gc", []string{"runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker"}},
		{"GC assist within generation", "gc", []string{"runtime.gcAssistAlloc", "runtime.mallocgc", istio + "xds.(*EdsGenerator).buildEndpoints"}},
		{"an idle processor's poll", "scheduler", []string{"internal/runtime/syscall/linux.Syscall6", "runtime.netpoll", "runtime.findRunnable", "runtime.schedule", "runtime.park_m", "runtime.mcall"}},
		{"runtime alone", "scheduler", []string{"runtime.futex", "runtime.notesleep"}},
		{"our own scrape", "metrics", []string{"strconv.AppendFloat", "github.com/prometheus/common/expfmt.MetricFamilyToText", "net/http.(*conn).serve"}},
		{"something new", "other", []string{"example.com/new.Thing", "runtime.goexit"}},
		{"embedded EDS", "eds", []string{"slices.SortFunc", ours + "portEndpoints" + source + "generate_eds.go", ours + "(*registry).build" + source + "snapshot.go"}},
		{"embedded codec", "proto", []string{ours + "wireCodec.Marshal" + source + "codec.go", handler}},
		{"embedded snapshot", "pushContext", []string{"maps.Clone", ours + "replaceEndpoints" + source + "snapshot.go"}},
		{"embedded queue", "pushes", []string{"sync.(*Mutex).Lock", ours + "(*pushQueue).enqueue" + source + "pushqueue.go"}},
	} {
		s, err := hotspot.Summarise(encode(t, "cpu", stack{10, test.frames}), "cpu")
		if err != nil {
			t.Fatal(err)
		}
		if s.Parts[test.part] != 1 {
			t.Errorf("%s: parts %v, want %s", test.what, s.Parts, test.part)
		}
	}
}

func TestSharesAddUpAndTopFunctionsCountThemselvesOnly(t *testing.T) {
	data := encode(t, "cpu",
		stack{60, []string{"a.leaf", "google.golang.org/grpc.root"}},
		stack{30, []string{"b.leaf", "k8s.io/client-go.root"}},
		stack{10, []string{"a.leaf", "k8s.io/client-go.root"}})
	s, err := hotspot.Summarise(data, "cpu")
	if err != nil {
		t.Fatal(err)
	}
	if s.Total != 100 || s.Sample != "cpu" || s.Parts["grpc"] != 0.6 || s.Parts["informers"] != 0.4 {
		t.Errorf("summary %+v", s)
	}
	want := []hotspot.Function{{Name: "a.leaf", Part: "grpc", Share: 0.7}, {Name: "b.leaf", Part: "informers", Share: 0.3}}
	if len(s.Top) != 2 || s.Top[0] != want[0] || s.Top[1] != want[1] {
		t.Errorf("top %+v, want %+v", s.Top, want)
	}
}

func TestGrowthIsTheDifferenceOfTwoSnapshots(t *testing.T) {
	before := encode(t, "alloc_space", stack{100, []string{"k8s.io/a.b"}}, stack{50, []string{"google.golang.org/grpc.c"}})
	after := encode(t, "alloc_space", stack{100, []string{"k8s.io/a.b"}}, stack{80, []string{"google.golang.org/grpc.c"}})
	s, err := hotspot.SummariseGrowth(before, after, "allocs")
	if err != nil {
		t.Fatal(err)
	}
	if s.Total != 30 || s.Parts["grpc"] != 1 || s.Parts["informers"] != 0 {
		t.Errorf("growth %+v, want 30, all gRPC's", s)
	}
}

func TestEmptyAndForeignProfiles(t *testing.T) {
	if s, err := hotspot.Summarise(encode(t, "delay"), "mutex"); err != nil || s.Total != 0 || len(s.Parts) != 0 {
		t.Errorf("empty profile: %+v, %v", s, err)
	}
	if _, err := hotspot.Summarise([]byte("<html>"), "cpu"); err == nil {
		t.Error("no error for a page")
	}
	if _, err := hotspot.Summarise(encode(t, "cpu"), "heap"); err == nil {
		t.Error("no error for a CPU profile as a heap profile")
	}
	if _, err := hotspot.Summarise(encode(t, "cpu"), "trace"); err == nil {
		t.Error("no error for a kind without a summary")
	}
}

func TestValidateListsEveryProblem(t *testing.T) {
	d := func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	if err := (hotspot.Spec{CPU: d(10 * time.Second), Heap: true}).Validate(); err != nil {
		t.Errorf("a good section: %v", err)
	}
	err := hotspot.Spec{CPU: d(1500 * time.Millisecond), Trace: d(time.Minute)}.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"pprof.cpu: 1.5s", "pprof.trace: 1m0s"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}
