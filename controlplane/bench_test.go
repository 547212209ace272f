package controlplane_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/xdsbench/xdsbench/controlplane"
)

const (
	benchServices = 200
	benchStreams  = 50
)

// BenchmarkPush measures the CPU time of one response to one proxy, the
// proxy's own decoding and ACK included: of an endpoint change (one cluster of
// twenty endpoints), and of a new service (all types).
func BenchmarkPush(b *testing.B) {
	for _, delta := range []bool{false, true} {
		variant := map[bool]string{false: "sotw", true: "delta"}[delta]
		b.Run(variant+"/endpoints", func(b *testing.B) {
			p := startBenchPlane(b, delta)
			for i := 0; b.Loop(); i++ {
				slice := benchSlice(0)
				slice.Endpoints = append(slice.Endpoints, ready(fmt.Sprintf("10.9.%d.%d", i/200%200, i%200)))
				if _, err := p.client.DiscoveryV1().EndpointSlices("ns").Update(b.Context(), slice, metav1.UpdateOptions{}); err != nil {
					b.Fatal(err)
				}
				p.await(b, 1)
			}
			p.report(b)
		})
		b.Run(variant+"/service", func(b *testing.B) {
			p := startBenchPlane(b, delta)
			for i := 0; b.Loop(); i++ {
				service := makeService("ns", fmt.Sprintf("new-%d", i), "", httpPort())
				if _, err := p.client.CoreV1().Services("ns").Create(b.Context(), service, metav1.CreateOptions{}); err != nil {
					b.Fatal(err)
				}
				p.await(b, 3)
				if err := p.client.CoreV1().Services("ns").Delete(b.Context(), service.Name, metav1.DeleteOptions{}); err != nil {
					b.Fatal(err)
				}
				p.await(b, 3)
			}
			p.report(b)
		})
	}
}

// benchPlane is a control plane with benchStreams subscribed streams.
type benchPlane struct {
	client    *fake.Clientset
	received  chan struct{} // one per response
	responses int
	began     time.Duration // CPU time of the process
}

func startBenchPlane(b *testing.B, delta bool) *benchPlane {
	b.Helper()
	var objects []runtime.Object
	var names []string
	for i := range benchServices {
		name := fmt.Sprintf("svc-%d", i)
		objects = append(objects, makeService("ns", name, "", httpPort()), benchSlice(i))
		names = append(names, "outbound|80||"+name+".ns.svc.cluster.local")
	}
	p := &benchPlane{client: fake.NewClientset(objects...), received: make(chan struct{}, 4*benchStreams)}
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	addresses := make(chan controlplane.Addresses, 1)
	running.Go(func() {
		err := controlplane.Run(ctx, controlplane.Config{
			Client: p.client, XDSAddress: "127.0.0.1:0", HTTPAddress: "127.0.0.1:0",
			Env:     map[string]string{"PILOT_DEBOUNCE_AFTER": "1ms"},
			OnReady: func(a controlplane.Addresses) { addresses <- a },
		})
		if err != nil {
			b.Error(err)
		}
	})
	xds := (<-addresses).XDS
	for i := range benchStreams {
		conn, err := grpc.NewClient(xds, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			b.Fatal(err)
		}
		running.Go(func() {
			defer func() { _ = conn.Close() }()
			client := discovery.NewAggregatedDiscoveryServiceClient(conn)
			node := nodeOf(fmt.Sprintf("10.8.0.%d", i), "p", "ns")
			if delta {
				p.runDelta(ctx, client, names, func(r *discovery.DeltaDiscoveryRequest) { r.Node = node })
			} else {
				p.runSotw(ctx, client, names, func(r *discovery.DiscoveryRequest) { r.Node = node })
			}
		})
	}
	b.Cleanup(func() { cancel(); running.Wait() })
	p.await(b, 4)
	p.responses, p.began = 0, cpuTime()
	return p
}

func benchSlice(i int) *discoveryv1.EndpointSlice {
	name := fmt.Sprintf("svc-%d", i)
	slice := makeSlice("ns", name, name+"-1")
	for k := range 20 {
		slice.Endpoints = append(slice.Endpoints, ready(fmt.Sprintf("10.1.%d.%d", i, k)))
	}
	return slice
}

func (p *benchPlane) runSotw(
	ctx context.Context, client discovery.AggregatedDiscoveryServiceClient, names []string, identify func(*discovery.DiscoveryRequest),
) {
	stream, err := client.StreamAggregatedResources(ctx)
	if err != nil {
		return
	}
	subscribed := map[string][]string{eds: names, rds: {"80"}}
	for _, url := range []string{cds, eds, lds, rds} {
		request := &discovery.DiscoveryRequest{TypeUrl: url, ResourceNames: subscribed[url]}
		identify(request)
		_ = stream.Send(request)
	}
	for {
		r, err := stream.Recv()
		if err != nil {
			return
		}
		_ = stream.Send(&discovery.DiscoveryRequest{
			TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce(), VersionInfo: r.GetVersionInfo(), ResourceNames: subscribed[r.GetTypeUrl()],
		})
		p.received <- struct{}{}
	}
}

func (p *benchPlane) runDelta(
	ctx context.Context, client discovery.AggregatedDiscoveryServiceClient, names []string, identify func(*discovery.DeltaDiscoveryRequest),
) {
	stream, err := client.DeltaAggregatedResources(ctx)
	if err != nil {
		return
	}
	subscribed := map[string][]string{eds: names, rds: {"80"}}
	for _, url := range []string{cds, eds, lds, rds} {
		request := &discovery.DeltaDiscoveryRequest{TypeUrl: url, ResourceNamesSubscribe: subscribed[url]}
		identify(request)
		_ = stream.Send(request)
	}
	for {
		r, err := stream.Recv()
		if err != nil {
			return
		}
		_ = stream.Send(&discovery.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()})
		p.received <- struct{}{}
	}
}

// await waits until every stream has got n responses more.
func (p *benchPlane) await(b *testing.B, n int) {
	b.Helper()
	for range n * benchStreams {
		select {
		case <-p.received:
			p.responses++
		case <-time.After(10 * time.Second):
			b.Fatal("no response in 10 s")
		}
	}
}

func (p *benchPlane) report(b *testing.B) {
	b.Helper()
	used := cpuTime() - p.began
	b.ReportMetric(float64(used.Microseconds())/float64(p.responses), "CPU-µs/response")
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // cannot fail with these arguments
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
