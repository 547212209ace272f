package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsbench/xdsbench/internal/self"
	"github.com/xdsbench/xdsbench/result"
)

// settle is how long bare streams are held once all are there.
const settle = 5 * time.Second

// holdBare opens streams at a rate, each on its own connection, receives one small
// response on each, and returns what the process used.
func holdBare(ctx context.Context, address string, n int, perSecond float64) (result.Harness, error) {
	var used result.Harness
	meter := self.Start()
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
			return used, ctx.Err()
		}
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return used, err
		}
		stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
		if err == nil {
			err = stream.Send(&discovery.DeltaDiscoveryRequest{})
		}
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			return used, fmt.Errorf("bare stream %d: %w", i, errors.Join(err, conn.Close()))
		}
		wg.Go(func() {
			defer func() { _ = conn.Close() }()
			_, _ = stream.Recv() // until ctx ends
		})
	}
	select {
	case <-time.NewTimer(settle).C:
	case <-ctx.Done():
		return used, ctx.Err()
	}
	_, err := meter.Stop(&used)
	return used, err
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
	executable, err := os.Executable()
	if err != nil {
		return s, err
	}
	for _, n := range o.sizes {
		file := filepath.Join(o.dir, fmt.Sprintf("%d-bare.json", n))
		out, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(log, "%d bare streams\n", n)
			child := exec.CommandContext(ctx, executable, "-bare", strconv.Itoa(n), "-bare-address", lis.Addr().String(),
				"-connect-rate", strconv.FormatFloat(o.bareRate(), 'g', -1, 64))
			child.Stderr = os.Stderr
			if out, err = child.Output(); err == nil {
				err = os.WriteFile(file, out, 0o644)
			}
		}
		if err != nil {
			return s, fmt.Errorf("%d bare streams: %w", n, err)
		}
		used := &result.Harness{}
		if err := json.Unmarshal(out, used); err != nil {
			return s, fmt.Errorf("%s: %w", file, err)
		}
		s.points = append(s.points, newPoint(n, &result.Result{Harness: used}))
	}
	return s, nil
}

// bareRate is how fast bare streams are opened: as there is nothing to sync,
// ten times the fleet's rate.
func (o *options) bareRate() float64 { return 10 * o.rate }
