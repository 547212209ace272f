package fakekube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/xdsbench/xdsbench/fakekube/internal/api"
)

// ServerOptions are a server's settings.
type ServerOptions struct {
	// Log gets failed requests at debug level. Default: nothing is logged.
	Log *slog.Logger
}

// Server serves a store over plain HTTP.
type Server struct {
	api http.Handler
	log *slog.Logger

	mu     sync.Mutex // guards what Start and Close set
	addr   string
	http   *http.Server
	cancel context.CancelFunc
	closed bool

	serving  sync.WaitGroup // the accept loop
	handlers sync.WaitGroup // requests in work
}

// NewServer makes a server of a store. The store outlives it.
func NewServer(store *Store, opts ServerOptions) *Server {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{api: api.NewHandler(store.objects, opts.Log), log: opts.Log}
}

// closeGrace is how long Close waits for requests in work, in particular for
// watches to end, before it cuts their connections.
const closeGrace = 2 * time.Second

// Start listens on addr ("127.0.0.1:0" for a free port) and serves until Close.
// When ctx ends, so do the watches, but not the listener.
func (s *Server) Start(ctx context.Context, addr string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return errors.New("fakekube: the server was started already")
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("fakekube: listen on %s: %w", addr, err)
	}
	base, cancel := context.WithCancel(ctx)
	s.addr, s.cancel = l.Addr().String(), cancel
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serveHTTP),
		ReadHeaderTimeout: 30 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.serving.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.ErrorContext(ctx, "serving ended", "err", err)
		}
	})
	return nil
}

// Addr is the address it listens on, "host:port"; "" before Start.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// RESTConfig is a client configuration for the server, without client-side
// rate limits.
func (s *Server) RESTConfig() *rest.Config {
	return &rest.Config{Host: "http://" + s.Addr(), QPS: -1}
}

// WriteKubeconfig writes a kubeconfig file for the server.
func (s *Server) WriteKubeconfig(path string) error {
	const name = "fakekube"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "http://" + s.Addr()}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("fakekube: write the kubeconfig %s: %w", path, err)
	}
	return nil
}

// serveHTTP serves a request, which Close waits for.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.handlers.Add(1)
	}
	s.mu.Unlock()
	if closed {
		api.WriteError(w, apierrors.NewServiceUnavailable("the server is being closed"))
		return
	}
	defer s.handlers.Done()
	s.api.ServeHTTP(w, r)
}

// Close ends the watches, then the connections, and waits for all of them.
func (s *Server) Close() error {
	s.mu.Lock()
	server, cancel := s.http, s.cancel
	s.closed = true
	s.mu.Unlock()
	if server == nil {
		return nil
	}
	cancel()
	ctx, done := context.WithTimeout(context.Background(), closeGrace)
	defer done()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // A client that does not read holds its watch's last write.
	}
	s.serving.Wait()
	s.handlers.Wait()
	return err
}
