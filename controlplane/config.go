package controlplane

import (
	"errors"
	"fmt"
	"log/slog"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ErrNoCluster is returned by Run when the configuration names no API server.
var ErrNoCluster = errors.New("no API server: set Client, RESTConfig or Kubeconfig")

// Addresses are the host:port pairs on which a control plane listens.
type Addresses struct {
	XDS  string // gRPC, plaintext
	HTTP string // metrics, readiness and debug pages
}

// Config is what Run needs. Of Client, RESTConfig and Kubeconfig the first one
// that is set is used.
type Config struct {
	Client     kubernetes.Interface
	RESTConfig *rest.Config
	Kubeconfig string // path of a kubeconfig file; its current context counts

	XDSAddress  string // host:port for ADS; port 0 picks a free one
	HTTPAddress string // host:port for metrics and debug pages

	// Env holds istiod's environment variables by name. Those without the
	// prefix PILOT_ are ignored, unknown ones with it are warned about.
	Env map[string]string

	Version string       // what /version answers; empty means "unknown"
	Log     *slog.Logger // nil discards

	// OnReady is called once, when the first snapshot exists and ADS is served.
	OnReady func(Addresses)
}

// protobufContent is smaller and faster to decode than JSON; every API server
// speaks it for built-in kinds. JSON stays acceptable.
const (
	protobufContent  = "application/vnd.kubernetes.protobuf"
	acceptedContents = protobufContent + ",application/json"
)

func (cfg *Config) client() (kubernetes.Interface, error) {
	if cfg.Client != nil {
		return cfg.Client, nil
	}
	restConfig := cfg.RESTConfig
	if restConfig == nil {
		if cfg.Kubeconfig == "" {
			return nil, ErrNoCluster
		}
		loaded, err := clientcmd.BuildConfigFromFlags("", cfg.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("kubeconfig %q: %w", cfg.Kubeconfig, err)
		}
		restConfig = loaded
	}
	restConfig = rest.CopyConfig(restConfig)
	restConfig.ContentType = protobufContent
	restConfig.AcceptContentTypes = acceptedContents
	client, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", restConfig.Host, err)
	}
	return client, nil
}
