//nolint:forbidigo // this binary stands in for the command, which talks to its surroundings.
package calibrate_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/controlplane"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/profiles"
)

// TestMain lets the test binary stand in for the command: runs start their
// embedded control plane from it, and a test starts a starved harness from it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		var err error
		switch os.Args[1] {
		case "controlplane":
			err = runControlPlane(os.Args[2:])
		case "starved":
			err = runStarved(os.Args[2])
		default:
			os.Exit(m.Run())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runControlPlane is `xdsbench controlplane`.
func runControlPlane(args []string) error {
	cfg := controlplane.Config{Env: make(map[string]string)}
	flags := flag.NewFlagSet("controlplane", flag.ContinueOnError)
	flags.StringVar(&cfg.Kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&cfg.XDSAddress, "xds-address", "", "")
	flags.StringVar(&cfg.HTTPAddress, "http-address", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, line := range os.Environ() {
		name, value, _ := strings.Cut(line, "=")
		cfg.Env[name] = value
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return controlplane.Run(ctx, cfg)
}

// runStarved makes a run in a process whose one processor has other work, and
// prints the result.
func runStarved(dir string) error {
	runtime.GOMAXPROCS(1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 6 {
		go func() {
			for ctx.Err() == nil {
				for i := range 1_000_000 {
					_ = i
				}
			}
		}()
	}
	p := profiles.Default()
	p.Proxies.Count = 20
	p.Churn = []churn.Spec{{Kind: churn.PodAdd, Rate: 30}}
	p.Phases = profiles.Phases{
		Steady: metav1.Duration{Duration: time.Second},
		Drain:  metav1.Duration{Duration: 5 * time.Second},
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	res, err := harness.Run(ctx, harness.Config{
		Profile: &p, Dir: filepath.Join(dir, "starved"), Environ: os.Environ(), Self: self, Version: "test",
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(res)
}

// environ is what targets inherit from.
func environ() []string { return os.Environ() }

// executable is the path of the test binary.
func executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}
