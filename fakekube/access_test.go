package fakekube_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/xdsbench/xdsbench/fakekube"
)

// startRemote serves a store on the wildcard address, to clients that connect to
// a loopback address.
func startRemote(t *testing.T, log *slog.Logger) *fakekube.Server {
	t.Helper()
	store := fakekube.NewStore(fakekube.Options{})
	server := fakekube.NewServer(store, fakekube.ServerOptions{Log: log, AllowRemote: true, AdvertiseHost: "127.0.0.1"})
	if err := server.Start(t.Context(), "0.0.0.0:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		store.Close()
	})
	return server
}

// listNamespaces lists with a client of its own connections.
func listNamespaces(t *testing.T, cfg *rest.Config) error {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer utilnet.CloseIdleConnectionsFor(client.Transport)
	set, err := kubernetes.NewForConfigAndClient(cfg, client)
	if err != nil {
		t.Fatal(err)
	}
	_, err = set.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	return err
}

func TestListeningBeyondLoopbackMustBeAllowed(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0"} {
		server := fakekube.NewServer(fakekube.NewStore(fakekube.Options{WithoutIstio: true}), fakekube.ServerOptions{})
		err := server.Start(t.Context(), address)
		if err == nil || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v", address, err)
		}
		if server.URL() != "" {
			t.Errorf("%s: serves at %s", address, server.URL())
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAdvertisedHostMustBeOneThatClientsCanUse(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"0.0.0.0", "::", "127.0.0.1:80"} {
		server := fakekube.NewServer(fakekube.NewStore(fakekube.Options{WithoutIstio: true}),
			fakekube.ServerOptions{AllowRemote: true, AdvertiseHost: host})
		err := server.Start(t.Context(), "0.0.0.0:0")
		if err == nil || !strings.Contains(err.Error(), `"`+host+`"`) {
			t.Errorf("%s: %v", host, err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRemoteServerKeepsTheContract(t *testing.T) {
	t.Parallel()
	runContract(t, startRemote(t, nil).RESTConfig())
}

func TestRemoteServerDemandsTLSAndItsToken(t *testing.T) {
	t.Parallel()
	var logged lockedBuffer
	server := startRemote(t, slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
	config := server.RESTConfig()
	if len(config.BearerToken) < 20 {
		t.Fatalf("a token of %d characters", len(config.BearerToken))
	}
	if err := listNamespaces(t, config); err != nil {
		t.Errorf("with token and CA: %v", err)
	}
	for name, token := range map[string]string{"no token": "", "another token": "x" + config.BearerToken, "part of it": config.BearerToken[:10]} {
		c := rest.CopyConfig(config)
		c.BearerToken = token
		if err := listNamespaces(t, c); !apierrors.IsUnauthorized(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	unknown := rest.CopyConfig(config)
	unknown.CAData = nil
	if err := listNamespaces(t, unknown); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the CA: %v", err)
	}
	plain := rest.CopyConfig(config)
	plain.Host, plain.TLSClientConfig = strings.Replace(config.Host, "https", "http", 1), rest.TLSClientConfig{}
	if err := listNamespaces(t, plain); err == nil {
		t.Error("it serves plain HTTP")
	}
	get(t, config, config.Host+"/none?token="+url.QueryEscape(config.BearerToken), "")
	if !strings.Contains(logged.String(), "request failed") || strings.Contains(logged.String(), config.BearerToken) {
		t.Errorf("the log has the token, or nothing:\n%s", &logged)
	}
}

func TestKubeconfigLeadsToARemoteServer(t *testing.T) {
	t.Parallel()
	server := startRemote(t, nil)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte("readable by all"), 0o644); err != nil { //nolint:gosec // That is what is tested.
		t.Fatal(err)
	}
	if err := server.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := listNamespaces(t, config); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(config.Host, "https://127.0.0.1:") {
		t.Errorf("the kubeconfig leads to %s", config.Host)
	}
}

// Without an address to advertise, one of the machine's is chosen.
func TestWildcardIsNotAdvertised(t *testing.T) {
	t.Parallel()
	server := fakekube.NewServer(fakekube.NewStore(fakekube.Options{WithoutIstio: true}), fakekube.ServerOptions{AllowRemote: true})
	err := server.Start(t.Context(), "0.0.0.0:0")
	t.Cleanup(func() { _ = server.Close() })
	if err != nil { // A machine without a default route.
		if !strings.Contains(err.Error(), "advertise") {
			t.Error(err)
		}
		return
	}
	u, err := url.Parse(server.URL())
	if err != nil || u.Hostname() == "0.0.0.0" || u.Hostname() == "::" || u.Port() == "" {
		t.Errorf("advertised: %s, %v", server.URL(), err)
	}
}

func TestLoopbackServerRefusesForeignHosts(t *testing.T) {
	t.Parallel()
	_, server := start(t, fakekube.Options{})
	for host, want := range map[string]int{
		"": http.StatusOK, "localhost": http.StatusOK, "localhost:80": http.StatusOK, "[::1]:80": http.StatusOK,
		"evil.example": http.StatusForbidden, "evil.example:80": http.StatusForbidden, "192.0.2.1": http.StatusForbidden,
	} {
		if code := get(t, server.RESTConfig(), server.URL()+"/api/v1/secrets", host); code != want {
			t.Errorf("Host %q: got %d, want %d", host, code, want)
		}
	}
}

// get makes a request, for another Host than the URL's if one is given.
func get(t *testing.T, cfg *rest.Config, target, host string) (code int) {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer utilnet.CloseIdleConnectionsFor(client.Transport)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
