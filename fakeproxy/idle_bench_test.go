package fakeproxy_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsbench/xdsbench/fakeproxy"
)

// serveServices tells a process of this test binary to serve that many services
// on the address that it prints, until its standard input ends.
const serveServices = "XDSBENCH_TEST_SERVE_SERVICES"

// pushTo tells it besides to push an assignment of 500 endpoints, ever another
// one, to that many streams as soon as all have answered the one before.
const pushTo = "XDSBENCH_TEST_PUSH_TO"

// TestServerOfTheBenchmarksMakesAFleetReady starts this test binary once more, as the
// benchmarks do: there the same test is the server.
func TestServerOfTheBenchmarksMakesAFleetReady(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(serveServices)) //nolint:forbidigo // a process of its own
	if err == nil {
		serveBenchmark(t, n)
		return
	}
	const proxies, services = 3, 5
	addr, _ := serverProcess(t, services)
	cfg := fleetConfig(addr, proxies)
	f := start(t, cfg)
	eventually(t, "ready", func() bool { return f.Counts().Ready == proxies })
	if got := len(endpoints(f, proxies-1)); got != services {
		t.Errorf("the endpoints of %d services, want %d", got, services)
	}
}

// serveBenchmark serves n services until the standard input ends.
func serveBenchmark(t *testing.T, n int) {
	t.Helper()
	p := newPusher(t, initialConfig(t, n)...)
	fmt.Println("serving on", p.addr) //nolint:forbidigo // a process of its own
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	}()
	if streams, err := strconv.Atoi(os.Getenv(pushTo)); err == nil { //nolint:forbidigo // a process of its own
		pushUntil(t, p, streams, ended)
	}
	<-ended
}

func pushUntil(t *testing.T, p *pusher, streams int, ended <-chan struct{}) {
	t.Helper()
	var messages [8][]byte
	for i := range messages {
		messages[i] = assignment(t, "v"+strconv.Itoa(i), 500, i)
	}
	p.await(streams)
	time.Sleep(300 * time.Millisecond) // what answers the first messages is over
	for i := 0; ; i++ {
		select {
		case <-ended:
			return
		default:
		}
		p.answers.Store(0)
		for _, s := range p.streams {
			if s.SendMsg(encoded(messages[i%len(messages)])) != nil {
				return
			}
		}
		for p.answers.Load() < int64(streams) {
			select {
			case <-ended:
				return
			case <-time.After(50 * time.Microsecond):
			}
		}
	}
}

// serverProcess starts a server in a process of its own, which ends with the test.
func serverProcess(tb testing.TB, services int, env ...string) (addr string, process *os.Process) {
	tb.Helper()
	c := exec.CommandContext(tb.Context(), os.Args[0], "-test.run=^TestServerOfTheBenchmarksMakesAFleetReady$", "-transport="+fakeproxy.TransportGRPC) //nolint:forbidigo // a process of its own
	c.Env = append(append(os.Environ(), fmt.Sprintf("%s=%d", serveServices, services)), env...)                                                        //nolint:forbidigo // a process of its own
	in, err := c.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait() // it fails when its streams break
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "serving on ")), c.Process
}

// footprint is memory in use, in bytes.
type footprint struct{ heap, stacks uint64 }

func measureFootprint() footprint {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{m.HeapInuse, m.StackInuse}
}

// perStream reports what n streams took since f, and how much that is of bare.
func (f footprint) perStream(b *testing.B, n int, bare float64) (total float64) {
	b.Helper()
	now := measureFootprint()
	heap := float64(int64(now.heap-f.heap)) / float64(n) / 1024
	stacks := float64(int64(now.stacks-f.stacks)) / float64(n) / 1024
	b.ReportMetric(heap, "heap-KiB/stream")
	b.ReportMetric(stacks, "stack-KiB/stream")
	if bare > 0 {
		b.ReportMetric((heap+stacks)/bare, "x-bare")
	}
	return heap + stacks
}

// BenchmarkFleetIdle reports the client's heap and stacks per idle stream, after
// a garbage collection: of bare streams, and of ready proxies that hold 100 and
// 1,000 services. The server is a process of its own.
func BenchmarkFleetIdle(b *testing.B) {
	const streams = 1000
	var bare float64
	b.Run("bare", func(b *testing.B) {
		addr, _ := serverProcess(b, 1)
		for b.Loop() {
			before := measureFootprint()
			got := make(chan struct{}, 8*streams)
			bareClients(b, addr, streams, passing{}, func(s grpc.ClientStream) error {
				err := s.RecvMsg(nil)
				got <- struct{}{}
				return err
			})
			for range 4 * streams { // the messages of initialConfig
				<-got
			}
			bare = before.perStream(b, streams, bare)
		}
	})
	for _, transport := range transports {
		for _, services := range []int{100, 1000} {
			b.Run(fmt.Sprintf("%s/services=%d", transport, services), func(b *testing.B) {
				addr, _ := serverProcess(b, services)
				for b.Loop() {
					before := measureFootprint()
					cfg := fleetConfig(addr, streams)
					cfg.Spec.Transport = transport
					f := startBench(b, cfg)
					for f.Counts().Ready < streams {
						time.Sleep(10 * time.Millisecond)
					}
					before.perStream(b, streams, bare)
				}
			})
		}
	}
}
