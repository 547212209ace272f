package controlplane

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// ErrNoAPIServer is returned by Run when the configuration names none.
var ErrNoAPIServer = errors.New("no API server: set Client or Kubeconfig")

// Addresses are the host:port pairs on which a control plane listens.
type Addresses struct {
	XDS  string // gRPC, plaintext
	HTTP string // metrics, readiness and debug pages
}

// Config is what Run needs.
type Config struct {
	// The API server to watch: a client, or the path of a kubeconfig file, whose
	// current context is used.
	Client     kubernetes.Interface
	Kubeconfig string
	// Dynamic reads Istio's objects from the same API server. With a Client and no
	// Dynamic there are none.
	Dynamic dynamic.Interface

	XDSAddress  string // host:port for ADS; port 0 picks a free one
	HTTPAddress string // host:port for metrics and debug pages

	// WrapHTTP, if set, wraps the handler of all pages, such as with a check of the
	// Host header.
	WrapHTTP func(http.Handler) http.Handler

	// Env holds environment variables by name: istiod's, with the prefix PILOT_,
	// and those of package faults. Unknown names with the prefix PILOT_ are logged,
	// unknown faults are errors, and all other variables are ignored.
	Env map[string]string

	Version string       // what /version answers; empty means "unknown"
	Log     *slog.Logger // nil discards

	// OnReady is called once, when the first snapshot exists and ADS is served.
	OnReady func(Addresses)
}

// protobufContent is smaller and faster to decode than JSON; every API server
// speaks it for built-in kinds. JSON stays acceptable.
const protobufContent = "application/vnd.kubernetes.protobuf"

// clients returns the clients of the API server; the dynamic one may be nil.
func (cfg *Config) clients() (kubernetes.Interface, dynamic.Interface, error) {
	if cfg.Client != nil {
		return cfg.Client, cfg.Dynamic, nil
	}
	if cfg.Kubeconfig == "" {
		return nil, nil, ErrNoAPIServer
	}
	rest, err := clientcmd.BuildConfigFromFlags("", cfg.Kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("kubeconfig %q: %w", cfg.Kubeconfig, err)
	}
	objects, err := dynamic.NewForConfig(rest)
	if err != nil {
		return nil, nil, fmt.Errorf("dynamic client of %s: %w", rest.Host, err)
	}
	rest.ContentType = protobufContent
	rest.AcceptContentTypes = protobufContent + ",application/json"
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return nil, nil, fmt.Errorf("client of %s: %w", rest.Host, err)
	}
	return client, objects, nil
}
