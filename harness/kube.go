package harness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/xdsbench/xdsbench/fakekube"
	"github.com/xdsbench/xdsbench/mesh"
)

// kube is the Kubernetes side of a run: an in-memory API server, or a real
// one that the user named.
type kube struct {
	client kubernetes.Interface
	// dynamic and discovery are for objects of kinds that client-go has no types of.
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
	// kubeconfig is the file that the target is given.
	kubeconfig string
	// guard bounds the requests to a real API server, whose objects must be removed;
	// nil for ours.
	guard *apiGuard
	close func() error
}

// openKube starts an in-memory API server, or opens the one that the
// kubeconfig names. Files with credentials go to a folder of their own outside
// the results, which close removes.
func openKube(ctx context.Context, kubeconfig, kubeContext string, log *slog.Logger) (*kube, error) {
	private, err := os.MkdirTemp("", "xdsbench-")
	if err != nil {
		return nil, fmt.Errorf("folder for the kubeconfig: %w", err)
	}
	c := &kube{kubeconfig: filepath.Join(private, "kubeconfig")}
	if kubeconfig == "" {
		err = c.openFake(ctx, private, log)
	} else {
		err = c.openReal(ctx, private, kubeconfig, kubeContext)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(private))
	}
	return c, nil
}

func (c *kube) openFake(ctx context.Context, private string, log *slog.Logger) error {
	store := fakekube.NewStore(fakekube.Options{})
	server := fakekube.NewServer(store, fakekube.ServerOptions{Log: log})
	if err := server.Start(ctx, "127.0.0.1:0"); err != nil {
		return fmt.Errorf("in-memory API server: %w", err)
	}
	closeIdle := func() {}
	c.close = func() error {
		closeIdle()
		return errors.Join(server.Close(), os.RemoveAll(private))
	}
	err := server.WriteKubeconfig(c.kubeconfig)
	if err == nil {
		closeIdle, err = c.openDynamic()
	}
	if err != nil {
		return errors.Join(err, server.Close())
	}
	c.client = store.Clientset()
	return nil
}

// openDynamic opens the clients that find out at run time what there is, by the target's
// kubeconfig. closeIdle closes their connections.
func (c *kube) openDynamic() (closeIdle func(), err error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, client)
	return func() { utilnet.CloseIdleConnectionsFor(client.Transport) }, err
}

func (c *kube) openReal(ctx context.Context, private, kubeconfig, kubeContext string) error {
	api, err := Connect(kubeconfig, kubeContext)
	if err != nil {
		return err
	}
	c.client, c.guard = api.Client, api.guard
	c.dynamic, c.discovery = api.Dynamic, api.Client.Discovery()
	c.close = func() error {
		api.Close()
		return os.RemoveAll(private)
	}
	err = clientcmd.WriteToFile(*api.config, c.kubeconfig)
	if err == nil {
		err = checkAccess(ctx, api.Client)
	}
	if err != nil {
		api.Close()
		return fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	return nil
}

// APIServer is a real API server that the user named.
type APIServer struct {
	Client kubernetes.Interface
	// Dynamic is for kinds that client-go has no types of.
	Dynamic dynamic.Interface

	// config is the kubeconfig cut down to the one context.
	config *clientcmdapi.Config
	http   *http.Client
	guard  *apiGuard
}

// Close closes the connections that are not in use.
func (a *APIServer) Close() { utilnet.CloseIdleConnectionsFor(a.http.Transport) }

// Connect opens the API server that a kubeconfig names, with no client-side
// rate limit. Each request has a bound, 10 s, or a minute if it deletes a collection.
//
// An API server that is not on this machine must be named by its context, so
// that no run hits a cluster only because it was the current one.
func Connect(kubeconfig, kubeContext string) (*APIServer, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: kubeContext})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	if kubeContext != "" {
		raw.CurrentContext = kubeContext
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	if kubeContext == "" && !onLoopback(config.Host) {
		return nil, fmt.Errorf("kubeconfig %s: its current context %q is the API server %s, not on this machine: name the context with --context to load that cluster",
			kubeconfig, raw.CurrentContext, config.Host)
	}
	if err := clientcmdapi.MinifyConfig(&raw); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	if err := clientcmdapi.FlattenConfig(&raw); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.UserAgent = mesh.ManagedByValue
	config.WarningHandler = rest.NoWarnings{} // meshes have slices of host names on purpose
	config.Timeout = sweepLimit               // which the API server is told; the guard's are shorter
	api := &APIServer{config: &raw}
	if api.http, err = rest.HTTPClientFor(config); err == nil {
		api.guard = newAPIGuard(api.http.Transport)
		api.http.Transport = api.guard
		api.Client, err = kubernetes.NewForConfigAndClient(config, api.http)
	}
	if err == nil {
		api.Dynamic, err = dynamic.NewForConfigAndClient(config, api.http)
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	return api, nil
}

// real reports whether the API server is one that the user named.
func (c *kube) real() bool { return c.guard != nil }

// limitRequests ends the requests to a real API server that are under way, and has those
// from now on last no longer than ctx.
func (c *kube) limitRequests(ctx context.Context) {
	if c.real() {
		c.guard.begin(ctx)
	}
}

// silent reports whether a real API server has answered nothing for some time, in
// which requests were made.
func (c *kube) silent(d time.Duration) bool {
	if !c.real() {
		return false
	}
	since, _, _ := c.guard.silence()
	return !since.IsZero() && time.Since(since) >= d
}

func onLoopback(host string) bool {
	name := host
	if u, err := url.Parse(host); err == nil && u.Host != "" {
		name = u.Hostname()
	} else if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
