package target_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/goleak"

	"github.com/xdsbench/xdsbench/target"
)

// modeVariable tells this test binary, when a target runs it again, how to
// behave as a control plane.
const modeVariable = "TARGET_TEST_MODE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" { //nolint:forbidigo // so the target tells its helper process
		os.Exit(controlPlane(mode, os.Args[1:], os.Stdout)) //nolint:forbidigo // the main of that process
	}
	goleak.VerifyTestMain(m)
}

// controlPlane is a process that looks like a control plane from outside. It
// ends by itself after a minute, whatever becomes of the test.
func controlPlane(mode string, args []string, out io.Writer) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if strings.HasPrefix(mode, "deaf") {
		signal.Ignore(syscall.SIGTERM)
	} else {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM)
		defer stop()
	}
	if mode == "harness" {
		return harness(ctx, args[0], args[1], out)
	}
	xds, base, err := listenFlags(args)
	if err != nil {
		return 2
	}
	fmt.Fprintln(out, "mode", mode, "args", args)
	switch mode {
	case "crash":
		for i := range 40 {
			fmt.Fprintln(out, "line", i)
		}
		fmt.Fprintln(out, "fatal: no such file: mesh.yaml")
		return 3
	case "never-ready":
		<-ctx.Done()
		return 0
	case "parent", "deaf-parent":
		child := exec.Command("sleep", "60") // in our process group
		if err := child.Start(); err != nil {
			fmt.Fprintln(out, err)
			return 1
		}
		fmt.Fprintln(out, "child", child.Process.Pid)
	}
	if mode == "mute" {
		for _, address := range []string{xds, base} {
			if _, err := net.Listen("tcp", address); err != nil {
				fmt.Fprintln(out, err)
				return 1
			}
		}
		<-ctx.Done()
		return 0
	}
	if err := serve(xds, base); err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	if mode == "dies" {
		time.Sleep(200 * time.Millisecond)
		fmt.Fprintln(out, "panic: out of luck")
		return 4
	}
	<-ctx.Done()
	return 0
}

// harness is a process that runs a target, and never stops it.
func harness(ctx context.Context, kubeconfig, dir string, out io.Writer) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	spec := target.DefaultSpec()
	spec.Env = map[string]string{modeVariable: "deaf"}
	tg, err := target.Start(ctx, target.Config{Spec: spec, Kubeconfig: kubeconfig, Dir: dir, Self: self})
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	fmt.Fprintln(out, "target", tg.Info().PID)
	<-ctx.Done()
	return 0
}

// listenFlags reads the flags of xdsbench's own control plane, of istiod, and of
// the exec commands of these tests.
func listenFlags(args []string) (xds, base string, err error) {
	if len(args) > 0 && (args[0] == "controlplane" || args[0] == "discovery") {
		args = args[1:]
	}
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.StringVar(&xds, "xds-address", "", "")
	set.StringVar(&xds, "grpcAddr", "", "")
	set.StringVar(&base, "http-address", "", "")
	set.StringVar(&base, "httpAddr", "", "")
	for _, ignored := range []string{"kubeconfig", "monitoringAddr", "secureGRPCAddr", "httpsAddr", "ctrlz_port"} {
		set.String(ignored, "", "")
	}
	return xds, base, set.Parse(args)
}

func serve(xds, base string) error {
	// The pages come first: a command is ready once its ADS address accepts connections.
	if base != "" {
		if err := servePages(base); err != nil {
			return err
		}
	}
	if xds == "" {
		return nil
	}
	l, err := net.Listen("tcp", xds)
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	return nil
}

func servePages(base string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "fake 1.2.3") })
	mux.Handle("/metrics", promhttp.Handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	l, err := net.Listen("tcp", base)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(l) }()
	return nil
}
