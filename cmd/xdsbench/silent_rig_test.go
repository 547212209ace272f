package main

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"k8s.io/client-go/tools/clientcmd"
)

// peers are what a run talks to: an API server and a control plane, in processes of
// their own.
type peers struct {
	api, plane *exec.Cmd
	kubeconfig string
	xds, pages string // HOST:PORT
}

// startPeers starts an API server and a control plane that watches it.
func startPeers(t *testing.T) *peers {
	t.Helper()
	p := &peers{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	var output *lockedBuffer
	p.api, output = start(t, "fakekube", "--write-kubeconfig", p.kubeconfig)
	awaitText(t, output, "API server on")
	p.plane, output = start(t, "controlplane", "--kubeconfig", p.kubeconfig, "--xds-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0")
	awaitText(t, output, "ADS on")
	_, rest, _ := strings.Cut(output.String(), "ADS on ")
	line, _, _ := strings.Cut(rest, "\n")
	p.xds, p.pages, _ = strings.Cut(line, ", HTTP on http://")
	return p
}

// args are the flags of a small run on these peers.
func (p *peers) args(more ...string) []string {
	return append([]string{
		"--target", "external", "--xds-address", p.xds, "--kubeconfig", p.kubeconfig,
		"--set", "target.metricsURL=http://" + p.pages + "/metrics",
	}, more...)
}

// pagesThat serves what is at an address, but answers nothing to the requests that
// hold is true of.
func pagesThat(t *testing.T, upstream string, hold func(*http.Request) bool) (address string) {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: upstream})
	proxy.FlushInterval = -1 // watches
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) {}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hold(r) {
			select {
			case <-r.Context().Done():
			case <-t.Context().Done():
			}
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String()
}

// apiThat returns a kubeconfig of an API server that answers nothing to the requests
// that hold is true of.
func (p *peers) apiThat(t *testing.T, hold func(*http.Request) bool) (kubeconfig string) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		u, err := url.Parse(cluster.Server)
		if err != nil {
			t.Fatal(err)
		}
		cluster.Server = "http://" + pagesThat(t, u.Host, hold)
	}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// adsThat relays ADS streams, without the responses that drop is true of: by the
// method, and the encoded message, which has the type's URL in it.
func (p *peers) adsThat(t *testing.T, drop func(method string, response []byte) bool) (address string) {
	t.Helper()
	upstream, err := grpc.NewClient("passthrough:///"+p.xds, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(rawBytes{}), grpc.UnknownServiceHandler(func(_ any, down grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(down)
		md, _ := metadata.FromIncomingContext(down.Context())
		up, err := upstream.NewStream(metadata.NewOutgoingContext(down.Context(), md),
			&grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method, grpc.ForceCodec(rawBytes{}))
		if err != nil {
			return err
		}
		go func() { // ends with the stream
			var request []byte
			for down.RecvMsg(&request) == nil && up.SendMsg(&request) == nil {
			}
		}()
		var response []byte
		for {
			if err := up.RecvMsg(&response); err != nil {
				return err
			}
			if !drop(method, response) {
				if err := down.SendMsg(&response); err != nil {
					return err
				}
			}
		}
	}))
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		_ = upstream.Close()
	})
	return l.Addr().String()
}

// rawBytes is a codec that leaves messages as they are.
type rawBytes struct{}

func (rawBytes) Name() string                       { return "raw" }
func (rawBytes) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (rawBytes) Unmarshal(data []byte, v any) error { *v.(*[]byte) = bytes.Clone(data); return nil }

// silentRun is one run whose peer does not answer.
type silentRun struct {
	// args are its flags beside those that keep it small.
	args []string
	// fallSilent is called, with the run's process, a few mutations after the run has got
	// to this phase; nil where the peer is silent from the start.
	phase      string
	fallSilent func(run int)
	// want names the silent peer: in the result, or in what the command says if there
	// can be no result.
	want     []string
	noResult bool
	// steady is how long steady load lasts in a run that is interrupted; "" for a minute.
	steady string
}

// readyAlone is the command of a server that answers /ready and nothing else.
const readyAlone = "ready-alone"

// serveReadyAlone is that server. It does not return.
func serveReadyAlone(address string) {
	server := &http.Server{Addr: address, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ready" {
			<-r.Context().Done()
		}
	})}
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	os.Exit(1)
}

// small are the flags of a run that lasts a few seconds.
func small(dir, steady string, more ...string) []string {
	return append([]string{
		"run", "smoke", "-o", dir, "--duration", steady, "--proxies", "10", "--set", "mesh.services=6",
		"--set", "phases.readyTimeout=8s", "--set", "phases.warmup=200ms", "--set", "phases.idle=0s", "--set", "phases.drain=4s",
	}, more...)
}

// Bounds of the runs, with room for a busy machine: an interrupted run is to end
// within 10 s.
const (
	interruptedWithin = 20 * time.Second
	endsWithin        = 2 * time.Minute
)

// endsByItself makes the run, and checks that it ends in time and names the peer.
func (s *silentRun) endsByItself(t *testing.T) {
	t.Helper()
	dir := out(t)
	c, output := start(t, small(dir, "1500ms", s.args...)...)
	s.silence(t, c, output)
	began := time.Now()
	code := exitCode(t, c)
	took := time.Since(began)
	t.Logf("exit %d after %.1f s", code, took.Seconds())
	if code == exitInterrupted || took > endsWithin {
		t.Errorf("exit %d after %s, want another, within %s", code, took, endsWithin)
	}
	s.check(t, dir, output, false)
}

// isInterrupted makes the run, interrupts it, and checks the same.
func (s *silentRun) isInterrupted(t *testing.T) {
	t.Helper()
	dir := out(t)
	c, output := start(t, small(dir, cmp.Or(s.steady, "1m"), s.args...)...)
	s.silence(t, c, output)
	time.Sleep(7 * time.Second)
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	code := exitCode(t, c)
	took := time.Since(began)
	t.Logf("exit %d %.1f s after the interrupt", code, took.Seconds())
	if code != exitInterrupted || took > interruptedWithin {
		t.Errorf("exit %d after %s, want %d within %s", code, took, exitInterrupted, interruptedWithin)
	}
	s.check(t, dir, output, true)
}

// silence waits for the phase, and has the peer fall silent.
func (s *silentRun) silence(t *testing.T, run *exec.Cmd, output *lockedBuffer) {
	t.Helper()
	if s.phase != "" {
		awaitText(t, output, s.phase)
	}
	if s.fallSilent != nil {
		time.Sleep(300 * time.Millisecond)
		s.fallSilent(run.Process.Pid)
	}
}

// check looks for the peer's name.
func (s *silentRun) check(t *testing.T, dir string, output *lockedBuffer, partial bool) {
	t.Helper()
	said := output.String()
	if !s.noResult {
		r := load(t, dir)
		said = r.Failure + "\n" + strings.Join(append(r.Warnings, r.Reasons...), "\n")
		if !r.Partial && partial {
			t.Error("the result is not marked partial")
		}
	}
	for _, want := range s.want {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if t.Failed() {
		t.Logf("said:\n%s\noutput:\n%s", said, output)
	}
}

// stop stops a process in its tracks.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Error(err)
	}
}
