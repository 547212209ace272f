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

	"github.com/xdsbench/xdsbench/fakekube/internal/api"
	"github.com/xdsbench/xdsbench/internal/listen"
)

// ServerOptions are a server's settings.
type ServerOptions struct {
	// Log gets failed requests at debug level. Default: nothing is logged.
	Log *slog.Logger
	// AllowRemote lets the server listen where other machines can reach it. It
	// then serves TLS and demands a bearer token, both made by Start. On a
	// loopback address it changes nothing.
	AllowRemote bool
	// AdvertiseHost is the IP address or DNS name by which clients reach a remote
	// server. Default: the address listened on, or for the wildcard that of the
	// interface with the default route.
	AdvertiseHost string
}

// Server serves a store over HTTP on a loopback address, where requests for
// foreign hosts are refused, or over TLS to clients with its token.
type Server struct {
	opts    ServerOptions
	handler http.Handler

	mu     sync.Mutex // guards what Start and Close set
	addr   string
	access access
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
	return &Server{opts: opts, handler: api.NewHandler(store.objects, opts.Log)}
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
	at, err := listen.Resolve(addr)
	remote := !at.Addr().IsLoopback()
	if err == nil && remote && !s.opts.AllowRemote {
		_, err = listen.Loopback(addr, "allow remote clients")
	}
	if err != nil {
		return fmt.Errorf("fakekube: %w", err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", at.String())
	if err != nil {
		return fmt.Errorf("fakekube: listen on %s: %w", addr, err)
	}
	if remote {
		s.access, err = newRemoteAccess(l.Addr(), s.opts.AdvertiseHost)
	} else {
		s.access = access{url: "http://" + l.Addr().String()}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("fakekube: %w", err), l.Close())
	}
	base, cancel := context.WithCancel(ctx)
	s.addr, s.cancel = l.Addr().String(), cancel
	s.http = &http.Server{
		Handler:           s.access.guard(http.HandlerFunc(s.serveHTTP)),
		TLSConfig:         s.access.tls,
		ReadHeaderTimeout: 30 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(s.opts.Log.Handler(), slog.LevelDebug),
	}
	s.serving.Go(func() {
		serve := s.http.Serve
		if remote {
			serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
		}
		if err := serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Log.ErrorContext(ctx, "serving ended", "err", err)
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
	s.handler.ServeHTTP(w, r)
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
		err = server.Close() // A client that does not read blocks its watch's last write.
	}
	s.serving.Wait()
	s.handlers.Wait()
	return err
}
