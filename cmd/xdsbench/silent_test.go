package main

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// TestNoSilentPeerHangsARunOrGoesUnnamed has, in the place of each remote, a peer that
// accepts and never answers. The runs are made at the same time, since they wait more
// than they work.
func TestNoSilentPeerHangsARunOrGoesUnnamed(t *testing.T) {
	var runs sync.WaitGroup
	defer runs.Wait()
	atOnce := make(chan struct{}, 13)
	for name, build := range map[string]func(*testing.T) silentRun{
		"ADS that never speaks HTTP2":    neverSpeaks,
		"ADS before the first response":  neverResponds,
		"ADS in mid-stream":              stopsInMidStream,
		"one variant":                    leavesDeltaUnanswered,
		"one type":                       leavesClustersUnanswered,
		"metrics":                        leavesMetricsUnanswered,
		"syncz":                          leavesSynczUnanswered,
		"pprof":                          leavesProfilesUnanswered,
		"API server on its first reads":  leavesReadsUnanswered,
		"API server on a read in a run":  leavesListUnanswered,
		"API server on writes":           leavesWritesUnanswered,
		"API server in mid-run":          stopsInMidRun,
		"API server on what is to clean": leavesDeletesUnanswered,
	} {
		for mode, carryOut := range map[string]func(*silentRun, *testing.T){
			"ends by itself": (*silentRun).endsByItself,
			"is interrupted": (*silentRun).isInterrupted,
		} {
			runs.Go(func() {
				atOnce <- struct{}{}
				defer func() { <-atOnce }()
				t.Run(name+" "+mode, func(t *testing.T) {
					r := build(t)
					carryOut(&r, t)
				})
			})
		}
	}
}

func neverSpeaks(t *testing.T) silentRun {
	t.Helper()
	return silentRun{
		args:  []string{"--target", "external", "--xds-address", listener(t).Addr().String(), "--kubeconfig", fakeCluster(t)},
		phase: "connect",
		want:  []string{"control plane answered nothing", "10 of 10 proxies wait for a first response"},
	}
}

func neverResponds(t *testing.T) silentRun {
	t.Helper()
	return silentRun{
		args:  []string{"--target", "external", "--xds-address", adstest.Start(t).Addr, "--kubeconfig", fakeCluster(t)},
		phase: "connect",
		want:  []string{"control plane answered nothing", "10 of 10 proxies wait for a first response"},
	}
}

func stopsInMidStream(t *testing.T) silentRun {
	t.Helper()
	p := startPeers(t)
	return silentRun{
		args: p.args(), phase: "steady", fallSilent: func(int) { stop(t, p.plane.Process.Pid) },
		want: []string{"control plane answered nothing from", "10 streams open, 0 responses", "/metrics timed out"},
	}
}

func leavesDeltaUnanswered(t *testing.T) silentRun {
	t.Helper()
	p := startPeers(t)
	p.xds = p.adsThat(t, func(method string, _ []byte) bool { return strings.Contains(method, "/Delta") })
	return silentRun{args: p.args(), phase: "connect", want: []string{"cds was never answered for 5 of 5 Delta proxies"}}
}

func leavesClustersUnanswered(t *testing.T) silentRun {
	t.Helper()
	p := startPeers(t)
	p.xds = p.adsThat(t, func(method string, response []byte) bool {
		return strings.Contains(method, "/Stream") && bytes.Contains(response, []byte(adstest.CDS))
	})
	return silentRun{args: p.args(), phase: "connect", want: []string{"cds was never answered for 5 of 5 SotW proxies"}}
}

func leavesMetricsUnanswered(t *testing.T) silentRun {
	t.Helper()
	p := startPeers(t)
	p.pages = pagesThat(t, p.pages, func(r *http.Request) bool { return r.URL.Path == "/metrics" })
	return silentRun{args: p.args(), phase: "steady", want: []string{"/metrics of control plane answered nothing"}}
}

// leavesSynczUnanswered has a program in the place of istiod, the only target besides
// ours of which this page is asked for.
func leavesSynczUnanswered(t *testing.T) silentRun {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	istiod := script(t, `for a in "$@"; do case $a in
--kubeconfig=*) kubeconfig=${a#*=};; --grpcAddr=*) grpc=${a#*=};; --httpAddr=*) http=${a#*=};; --monitoringAddr=*) monitoring=${a#*=};;
esac; done
"`+self+`" `+readyAlone+` "$http" &
exec "`+self+`" controlplane --kubeconfig "$kubeconfig" --xds-address "$grpc" --http-address "$monitoring"`)
	return silentRun{
		args:  []string{"--target", "istiod", "--istiod-binary", istiod},
		phase: "drain", want: []string{"/debug/syncz"}, steady: "1500ms",
	}
}

func leavesProfilesUnanswered(t *testing.T) silentRun {
	t.Helper()
	p := startPeers(t)
	address := pagesThat(t, p.pages, func(r *http.Request) bool { return r.URL.Path == "/debug/pprof/heap" })
	return silentRun{
		args:  p.args("--set", "target.pprofURL=http://"+address+"/debug/pprof", "--set", "pprof.heap=true"),
		phase: "steady", want: []string{"/debug/pprof of control plane answered nothing"},
	}
}

func leavesReadsUnanswered(t *testing.T) silentRun {
	t.Helper()
	p := startPeers(t)
	p.kubeconfig = p.apiThat(t, func(*http.Request) bool { return true })
	return silentRun{args: p.args(), phase: "start", want: []string{"the API server did not answer"}, noResult: true}
}

// leavesListUnanswered holds the list that an outage is judged by.
func leavesListUnanswered(t *testing.T) silentRun {
	t.Helper()
	p := startPeers(t)
	kubeconfig := p.apiThat(t, func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/endpointslices") && r.URL.Query().Get("labelSelector") != ""
	})
	return silentRun{
		args:  []string{"--kubeconfig", kubeconfig, "--set", "target.outage.at=200ms", "--set", "target.outage.for=500ms"},
		phase: "steady", want: []string{"list EndpointSlices", "the API server did not answer"},
	}
}

// leavesWritesUnanswered holds all writes from steady load on.
func leavesWritesUnanswered(t *testing.T) silentRun {
	t.Helper()
	p := startPeers(t)
	var silent atomic.Bool
	p.kubeconfig = p.apiThat(t, func(r *http.Request) bool { return silent.Load() && r.Method != http.MethodGet })
	return silentRun{
		args: p.args(), phase: "steady", fallSilent: func(int) { silent.Store(true) },
		want: []string{"API server answered nothing from", "writes unanswered", "xdsbench clean --kubeconfig " + p.kubeconfig},
	}
}

func stopsInMidRun(t *testing.T) silentRun {
	t.Helper()
	p := startPeers(t)
	return silentRun{
		args: p.args(), phase: "steady", fallSilent: func(int) { stop(t, p.api.Process.Pid) },
		want: []string{"API server answered nothing from", "writes unanswered", "xdsbench clean --kubeconfig " + p.kubeconfig},
	}
}

// leavesDeletesUnanswered holds the deletion of namespaces.
func leavesDeletesUnanswered(t *testing.T) silentRun {
	t.Helper()
	p := startPeers(t)
	p.kubeconfig = p.apiThat(t, func(r *http.Request) bool {
		return r.Method == http.MethodDelete && strings.Count(r.URL.Path, "/") == 4
	})
	return silentRun{
		args: p.args(), phase: "steady",
		want: []string{"API server answered nothing", "left on the API server: namespace", "xdsbench clean --kubeconfig " + p.kubeconfig},
	}
}
