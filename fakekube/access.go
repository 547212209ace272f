package fakekube

import (
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"

	"github.com/xdsbench/xdsbench/fakekube/internal/api"
	"github.com/xdsbench/xdsbench/internal/listen"
)

// access is how clients reach the server.
type access struct {
	url string

	// Set if other machines can reach it.
	tls   *tls.Config
	ca    []byte // PEM
	token string
}

// newRemoteAccess makes a certificate authority, a certificate for the host and
// a token, which last as long as the server.
func newRemoteAccess(addr net.Addr, host string) (access, error) {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return access{}, err
	}
	if host == "" {
		if host, err = listen.AdvertisedHost(at); err != nil {
			return access{}, err
		}
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		return access{}, fmt.Errorf("advertised host %q: no client can connect to the wildcard address; name one of this machine", host)
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		return access{}, fmt.Errorf("advertised host %q: want no port, only %q; the port is the listener's", host, h)
	}
	chain, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, []string{"localhost"})
	if err != nil {
		return access{}, fmt.Errorf("certificate for %q: %w", host, err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return access{}, err
	}
	certificates, err := cert.ParseCertsPEM(chain)
	if err != nil {
		return access{}, err
	}
	ca, err := cert.EncodeCertificates(certificates[len(certificates)-1]) // The last one signed the others.
	return access{
		url:   "https://" + net.JoinHostPort(host, strconv.Itoa(int(at.Port()))),
		tls:   &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		ca:    ca,
		token: rand.Text(),
	}, err
}

// guard lets requests through that may use the server: those with the token, or
// on a loopback address those that mean this machine.
func (a access) guard(next http.Handler) http.Handler {
	if a.token == "" {
		return listen.GuardHost(next)
	}
	want := []byte("Bearer " + a.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			api.WriteError(w, apierrors.NewUnauthorized("the request lacks the bearer token that this server made at its start"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// URL is where clients reach the server; "" before Start.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.access.url
}

// RESTConfig is a client configuration for the server, without client-side
// rate limits.
func (s *Server) RESTConfig() *rest.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &rest.Config{
		Host: s.access.url, BearerToken: s.access.token, TLSClientConfig: rest.TLSClientConfig{CAData: s.access.ca}, QPS: -1,
	}
}

// WriteKubeconfig writes a kubeconfig file for the server, which only its owner
// can read.
func (s *Server) WriteKubeconfig(path string) error {
	const name = "fakekube"
	client := s.RESTConfig()
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: client.Host, CertificateAuthorityData: client.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: client.BearerToken}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	// A new file is made with mode 0600; one that is there keeps its mode.
	err := os.Chmod(path, 0o600)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = clientcmd.WriteToFile(*config, path)
	}
	if err != nil {
		return fmt.Errorf("fakekube: write the kubeconfig %s: %w", path, err)
	}
	return nil
}
