package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/procfs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// usage is what a process took.
type usage struct {
	CPUSeconds   float64 `json:"cpuSeconds"`
	PeakRSSBytes int64   `json:"peakRSSBytes"`
}

func ownUsage() (usage, error) {
	p, err := procfs.Self()
	if err != nil {
		return usage{}, err
	}
	status, err := p.NewStatus()
	if err != nil {
		return usage{}, err
	}
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return usage{}, err
	}
	return usage{
		CPUSeconds:   time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds(),
		PeakRSSBytes: int64(min(status.VmHWM, math.MaxInt64)), //nolint:gosec // bounded
	}, nil
}

// settle is how long bare streams are held once all are there.
const settle = 5 * time.Second

// holdBare opens streams at a rate, each on its own connection, has one small
// response on each, and tells what the process took.
func holdBare(ctx context.Context, address string, n int, perSecond float64) (usage, error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	tick := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer tick.Stop()
	for i := range n {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return usage{}, ctx.Err()
		}
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return usage{}, err
		}
		stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
		if err == nil {
			err = stream.Send(&discovery.DeltaDiscoveryRequest{})
		}
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			return usage{}, fmt.Errorf("bare stream %d: %w", i, errors.Join(err, conn.Close()))
		}
		wg.Go(func() {
			defer func() { _ = conn.Close() }()
			_, _ = stream.Recv() // until ctx ends
		})
	}
	select {
	case <-time.NewTimer(settle).C:
	case <-ctx.Done():
		return usage{}, ctx.Err()
	}
	return ownUsage()
}

// quietServer answers the first request of each stream, and no other.
type quietServer struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
}

// DeltaAggregatedResources is the server's one method.
func (quietServer) DeltaAggregatedResources(s discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	if err := s.Send(&discovery.DeltaDiscoveryResponse{}); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

// measureBare runs a child for each size.
func (o *options) measureBare(ctx context.Context, log io.Writer) (series, error) {
	s := series{name: "bare streams"}
	var lc net.ListenConfig
	lis, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return s, err
	}
	server := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(server, quietServer{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer server.Stop()
	wg.Go(func() { _ = server.Serve(lis) }) // ends with Stop
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	for _, n := range o.sizes {
		file := filepath.Join(o.dir, fmt.Sprintf("%d-bare.json", n))
		out, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(log, "%d bare streams\n", n)
			child := exec.CommandContext(ctx, self, "-bare", strconv.Itoa(n), "-bare-address", lis.Addr().String(),
				"-connect-rate", strconv.FormatFloat(o.bareRate(), 'g', -1, 64))
			child.Stderr = os.Stderr
			if out, err = child.Output(); err == nil {
				err = os.WriteFile(file, out, 0o644)
			}
		}
		if err != nil {
			return s, fmt.Errorf("%d bare streams: %w", n, err)
		}
		var u usage
		if err := json.Unmarshal(out, &u); err != nil {
			return s, fmt.Errorf("%s: %w", file, err)
		}
		s.points = append(s.points, point{proxies: n, harness: u})
	}
	return s, nil
}

// bareRate is how fast bare streams are opened: as there is nothing to sync,
// ten times the fleet's rate.
func (o *options) bareRate() float64 { return 10 * o.rate }
