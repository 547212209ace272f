package realstack

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/xdsbench/xdsbench/internal/subprocess"
)

// binVariable names the directory of the real binaries.
const binVariable = "XDSBENCH_REAL_BIN"

// token lets its bearer do everything on a test's API server.
const token = "realstack-test"

// startTimeout bounds each step of the start.
const startTimeout = 60 * time.Second

// Stack is a running API server. It ends with the test that started it.
type Stack struct {
	// Kubeconfig is the path of a kubeconfig file with all rights.
	Kubeconfig string
	// Config is the same for client-go, without a rate limit on the client's side.
	Config *rest.Config

	// etcd and apiserver are the processes, stopped in the reverse order.
	etcd, apiserver *subprocess.Process
}

// Binary returns the path of one of the real binaries, such as
// "pilot-discovery", and fails the test if it is not there.
func Binary(tb testing.TB, name string) string {
	tb.Helper()
	dir := os.Getenv(binVariable) //nolint:forbidigo // a test's input has no other way in
	if dir == "" {
		tb.Fatalf("%s is not set: run `make real-bin` and set it to the absolute path of bin/real", binVariable)
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("%s=%s has no %s (%v): run `make real-bin`", binVariable, dir, name, err)
	}
	return path
}

// Start starts etcd and kube-apiserver, and returns when Istio's CRDs can be used.
func Start(tb testing.TB) *Stack {
	tb.Helper()
	s := &Stack{}
	dir := tb.TempDir()
	addresses, err := subprocess.FreeAddresses(tb.Context(), 3)
	check(tb, err)

	client, peer := "http://"+addresses[0], "http://"+addresses[1]
	s.etcd = start(tb, dir, "etcd",
		"--data-dir="+filepath.Join(dir, "etcd"), "--name=default", "--log-level=warn",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
		"--unsafe-no-fsync")
	await(tb, "etcd", s.etcd, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, client+"/health", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s/health: %s", client, resp.Status)
		}
		return nil
	})

	s.apiserver = start(tb, dir, "kube-apiserver", apiserverFlags(tb, dir, client, addresses[2])...)
	s.writeKubeconfig(tb, dir, addresses[2])
	clientset, err := kubernetes.NewForConfig(s.Config)
	check(tb, err)
	await(tb, "kube-apiserver", s.apiserver, func(ctx context.Context) error {
		if err := clientset.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return err
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "istio-system"}}
		_, err := clientset.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	s.applyCRDs(tb)
	return s
}

// apiserverFlags returns the flags of an API server that does without what the
// tests do not need: admission that wants controllers, priority and fairness,
// authorization.
func apiserverFlags(tb testing.TB, dir, etcd, address string) []string {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(tb, err)
	der, err := x509.MarshalECPrivateKey(key)
	check(tb, err)
	keyFile := filepath.Join(dir, "service-account.key")
	check(tb, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
	tokens := filepath.Join(dir, "tokens.csv")
	check(tb, os.WriteFile(tokens, []byte(token+",admin,admin,system:masters\n"), 0o600))
	_, port, err := net.SplitHostPort(address)
	check(tb, err)
	return []string{
		"--etcd-servers=" + etcd, "--bind-address=127.0.0.1", "--secure-port=" + port,
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--cert-dir=" + certDir(dir), "--service-cluster-ip-range=10.96.0.0/12",
		"--token-auth-file=" + tokens, "--anonymous-auth=false", "--authorization-mode=AlwaysAllow",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + keyFile, "--service-account-signing-key-file=" + keyFile,
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,LimitRanger,ResourceQuota," +
			"Priority,RuntimeClass,DefaultTolerationSeconds,PodSecurity",
		"--enable-priority-and-fairness=false",
	}
}

// certDir is where the API server writes its certificate, signed by itself.
func certDir(dir string) string { return filepath.Join(dir, "certs") }

// writeKubeconfig writes the kubeconfig file, once there is a certificate.
func (s *Stack) writeKubeconfig(tb testing.TB, dir, address string) {
	tb.Helper()
	cert := filepath.Join(certDir(dir), "apiserver.crt")
	await(tb, "kube-apiserver", s.apiserver, func(context.Context) error {
		info, err := os.Stat(cert)
		if err == nil && info.Size() == 0 {
			return fs.ErrNotExist
		}
		return err
	})
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: "https://" + address, CertificateAuthority: cert}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "admin"}
	config.CurrentContext = "test"
	s.Kubeconfig = filepath.Join(dir, "kubeconfig")
	check(tb, clientcmd.WriteToFile(*config, s.Kubeconfig))
	var err error
	s.Config, err = clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	check(tb, err)
	s.Config.QPS = -1 // no limit on the client's side
}

// start starts one of the real binaries until the end of the test, when its log
// is shown if the test failed.
func start(tb testing.TB, dir, name string, args ...string) *subprocess.Process {
	tb.Helper()
	logPath := filepath.Join(dir, name+".log")
	log, err := os.Create(logPath)
	check(tb, err)
	defer func() { _ = log.Close() }()
	cmd := exec.Command(Binary(tb, name), args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	p, err := subprocess.Start(cmd, subprocess.Same)
	check(tb, err)
	tb.Cleanup(func() {
		if err := p.Stop(context.Background(), 10*time.Second); err != nil {
			tb.Errorf("%s: %v", name, err)
		}
		if tb.Failed() {
			lines, err := subprocess.Tail(logPath, 0, 30)
			tb.Logf("last lines of the log of %s (%v):\n%s", name, err, lines)
		}
	})
	return p
}

// await tries until there is no error, and fails the test when the process ends
// or the time is up.
func await(tb testing.TB, name string, p *subprocess.Process, try func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		select {
		case <-p.Done():
			tb.Fatalf("%s ended while starting: %s", name, p.ExitStatus())
		case <-ctx.Done():
			tb.Fatalf("%s is not ready after %s: %v", name, startTimeout, last)
		case <-ticker.C:
		}
		if last = try(ctx); last == nil {
			return
		}
	}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
