package fakekube_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"syscall"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/xdsbench/xdsbench/fakekube"
)

// BenchmarkFakekubeUpdate writes EndpointSlices of five endpoints through the
// clientset, in one process with what watches them over HTTP in protobuf:
// informers, or clients that only read, which leaves the server's own cost.
// With either there is one more client that does not read. Afterwards every
// informer must have the store's state.
func BenchmarkFakekubeUpdate(b *testing.B) {
	b.Run("alone", func(b *testing.B) { benchmarkUpdate(b, 0, 0) })
	b.Run("informers=1", func(b *testing.B) { benchmarkUpdate(b, 1, 0) })
	b.Run("informers=20", func(b *testing.B) { benchmarkUpdate(b, 20, 0) })
	b.Run("readers=20", func(b *testing.B) { benchmarkUpdate(b, 0, 20) })
}

func benchmarkUpdate(b *testing.B, watchers, readers int) {
	b.Helper()
	const services = 1000
	store, server := start(b, fakekube.Options{})
	slices := store.Clientset().DiscoveryV1().EndpointSlices("default")
	state := make([]*discoveryv1.EndpointSlice, services)
	for i := range state {
		var addresses []string
		for j := range 5 {
			addresses = append(addresses, fmt.Sprintf("10.%d.%d.%d", j, i/256, i%256))
		}
		es, err := slices.Create(b.Context(), slice(fmt.Sprint("svc-", i), addresses...), metav1.CreateOptions{})
		if err != nil {
			b.Fatal(err)
		}
		state[i] = es
	}
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var stores []cache.Store
	for range watchers {
		stores = append(stores, startInformer(ctx, b, server, &running))
	}
	for range readers {
		body := openWatch(ctx, b, server)
		running.Go(func() { _, _ = io.Copy(io.Discard, body) }) // Ends with ctx.
	}
	if watchers+readers > 0 {
		openWatch(ctx, b, server) // Nobody reads it.
	}
	before, cpu := heap(), cpuTime(b)

	i := 0
	for b.Loop() {
		es := state[i%services]
		ready := !*es.Endpoints[0].Conditions.Ready
		es.Endpoints[0].Conditions.Ready = &ready
		es, err := slices.Update(ctx, es, metav1.UpdateOptions{})
		if err != nil {
			b.Fatal(err)
		}
		state[i%services] = es
		i++
	}
	b.StopTimer()
	each := float64(cpuTime(b)-cpu) / float64(i)
	b.ReportMetric(each, "cpu-ns/op")
	// Of one processor, at 10,000 mutations per second.
	b.ReportMetric(each*10_000/1e9, "x-core@10k/s")
	b.ReportMetric(float64(i)/b.Elapsed().Seconds(), "updates/s")
	for n, s := range stores {
		waitFor(b, fmt.Sprintf("informer %d has the store's state", n), func() bool { return has(b, s, state) })
	}
	b.ReportMetric(float64(heap()-before)/(1<<20), "MB-kept")
}

func has(b *testing.B, s cache.Store, state []*discoveryv1.EndpointSlice) bool {
	b.Helper()
	for _, es := range state {
		obj, ok, err := s.GetByKey(es.Namespace + "/" + es.Name)
		if err != nil || !ok {
			return false
		}
		m, err := meta.Accessor(obj)
		if err != nil || m.GetResourceVersion() != es.ResourceVersion {
			return false
		}
	}
	return true
}

// cpuTime is what the process has used, in nanoseconds: on a busy machine it
// says more than the time that passes.
func cpuTime(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func startInformer(ctx context.Context, b *testing.B, server *fakekube.Server, running *sync.WaitGroup) cache.Store {
	b.Helper()
	cfg := server.RESTConfig()
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		b.Fatal(err)
	}
	informer := informers.NewSharedInformerFactory(client, 0).Discovery().V1().EndpointSlices().Informer()
	running.Go(func() { informer.RunWithContext(ctx) })
	waitFor(b, "synced", informer.HasSynced)
	return informer.GetStore()
}

// openWatch opens a watch and returns its stream.
func openWatch(ctx context.Context, b *testing.B, server *fakekube.Server) io.Reader {
	b.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+server.Addr()+"/apis/discovery.k8s.io/v1/endpointslices?watch=1", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Accept", protobuf)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}
