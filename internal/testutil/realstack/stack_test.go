//go:build realstack

package realstack_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"github.com/xdsbench/xdsbench/internal/testutil/realstack"
)

func TestRealStackServesIstiosKinds(t *testing.T) {
	began := time.Now()
	s := realstack.Start(t)
	t.Logf("ready after %s", time.Since(began))
	clientset, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientset.CoreV1().Namespaces().Get(t.Context(), "istio-system", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	version, err := clientset.Discovery().ServerVersion()
	if err != nil || version.Major != "1" || version.GitVersion == "v0.0.0" {
		t.Errorf("version %+v, %v", version, err)
	}
	if err := discovery.ServerSupportsVersion(clientset.Discovery(), schema.GroupVersion{Group: "networking.istio.io", Version: "v1"}); err != nil {
		t.Error(err)
	}
}
