//go:build realstack

package main

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/xdsbench/xdsbench/internal/testutil/gobuild"
	"github.com/xdsbench/xdsbench/internal/testutil/realstack"
	"github.com/xdsbench/xdsbench/target"
)

func TestRealKubeAPIServerFeedsThisServerAsAnExecAndAnExternalTarget(t *testing.T) {
	stack := realstack.Start(t)
	client, err := kubernetes.NewForConfig(stack.Config)
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Services("shop").Create(t.Context(), service("cart"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	endpointSlices := client.DiscoveryV1().EndpointSlices("shop")
	if _, err := endpointSlices.Create(t.Context(), slice("cart"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	spec := target.DefaultSpec()
	spec.Kind = target.KindExec
	spec.Exec = gobuild.Build(t, "github.com/xdsbench/xdsbench/internal/testutil/gcpserver") +
		" --kubeconfig {kubeconfig} --listen {xds} --metrics {metrics}"
	spec.PprofURL = "http://{metrics}/debug/pprof"
	spec.ClusterName = "{namespace}/{service}/{port}"
	started, err := target.Start(t.Context(), target.Config{
		Spec: spec, Kubeconfig: stack.Kubeconfig, Dir: t.TempDir(), Environ: os.Environ(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	spec = target.DefaultSpec()
	spec.Kind, spec.XDSAddress, spec.MetricsURL = target.KindExternal, started.XDSAddresses()[0], started.Info().MetricsURL
	external, err := target.Start(t.Context(), target.Config{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	if usage, err := external.Usage(t.Context()); err != nil || usage.RSSBytes == 0 {
		t.Errorf("Usage() = %+v, %v", usage, err)
	}

	proxy := openDelta(t, external.XDSAddresses()[0])
	proxy.subscribe(t, resource.EndpointType, "shop/cart/80")
	if got := proxy.receive(t).addresses(t); !slices.Equal(got, []string{"10.0.0.1:8080", "10.0.0.2:8080"}) {
		t.Errorf("endpoints %q", got)
	}
	if _, err := endpointSlices.Update(t.Context(), slice("cart", "10.0.0.5"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := proxy.receive(t).addresses(t); len(got) != 3 {
		t.Errorf("endpoints after the change %q", got)
	}
}
