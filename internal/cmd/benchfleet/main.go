package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchfleet:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	xdsbench string
	document string
	dir      string
	sizes    []int
	services []int
	rate     float64
	duration time.Duration
	saved    bool

	bare        int // children only
	bareAddress string
}

// spareDescriptors are those that a fleet's process needs beside its connections.
const spareDescriptors = 512

func parse(args []string) (options, error) {
	var o options
	var sizes, services string
	f := flag.NewFlagSet("benchfleet", flag.ContinueOnError)
	f.StringVar(&o.xdsbench, "xdsbench", "bin/xdsbench", "the binary to measure")
	f.StringVar(&o.document, "o", "docs/performance.md", "the document whose section is written")
	f.StringVar(&o.dir, "dir", "results/bench-fleet", "folder for the runs' results; what is in it is used and not run again")
	f.StringVar(&sizes, "proxies", "1000,5000,10000,20000", "numbers of proxies; what the descriptor limit forbids becomes the most it allows")
	f.StringVar(&services, "services", "100,1000", "numbers of services")
	f.Float64Var(&o.rate, "connect-rate", 150, "connections per second")
	f.DurationVar(&o.duration, "duration", 20*time.Second, "length of the steady phase, with one mutation per second")
	f.BoolVar(&o.saved, "saved", false, "run no fleet: show what the folder has")
	f.IntVar(&o.bare, "bare", 0, "hold this many bare streams and print what they use (for its own use)")
	f.StringVar(&o.bareAddress, "bare-address", "", "the server for -bare")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.sizes, err = numbers(sizes); err != nil {
		return o, fmt.Errorf("-proxies: %w", err)
	}
	if o.services, err = numbers(services); err != nil {
		return o, fmt.Errorf("-services: %w", err)
	}
	return o, nil
}

func numbers(list string) ([]int, error) {
	var out []int
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q: must be whole numbers of at least 1, separated by commas", s)
		}
		out = append(out, n)
	}
	return out, nil
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.bare > 0 {
		u, err := holdBare(ctx, o.bareAddress, o.bare, o.rate)
		if err != nil {
			return err
		}
		return json.NewEncoder(stdout).Encode(u)
	}
	if err := o.limit(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	var all []series
	bare, err := o.measureBare(ctx, stdout)
	if err != nil {
		return err
	}
	all = append(all, bare)
	for _, services := range o.services {
		s, err := o.measureFleet(ctx, services, stdout)
		if err != nil {
			return err
		}
		if len(s.points) > 0 {
			all = append(all, s)
		}
	}
	text, err := section(&o, all)
	if err != nil {
		return err
	}
	return writeSection(o.document, text)
}

// limit lowers sizes to what the descriptor limit allows.
func (o *options) limit() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	most := int(min(l.Max, 1<<30)) - spareDescriptors //nolint:gosec // bounded
	for i := range o.sizes {
		o.sizes[i] = min(o.sizes[i], most)
	}
	return nil
}
