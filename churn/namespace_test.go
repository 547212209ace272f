package churn_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	core "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/xdsbench/xdsbench/churn"
)

// slowNamespaces takes 5 s to make a namespace, and knows no pods in one that there is
// not, as an API server.
type slowNamespaces struct{ kubernetes.Interface }

func (c slowNamespaces) CoreV1() core.CoreV1Interface { return slowCore{c.Interface.CoreV1()} }

type slowCore struct{ core.CoreV1Interface }

func (c slowCore) Namespaces() core.NamespaceInterface {
	return slowNamespace{c.CoreV1Interface.Namespaces()}
}

func (c slowCore) Pods(namespace string) core.PodInterface {
	return podsIn{c.CoreV1Interface.Pods(namespace), namespace, c.CoreV1Interface.Namespaces()}
}

type slowNamespace struct{ core.NamespaceInterface }

func (n slowNamespace) Create(ctx context.Context, o *corev1.Namespace, opts metav1.CreateOptions) (*corev1.Namespace, error) {
	time.Sleep(5 * time.Second)
	return n.NamespaceInterface.Create(ctx, o, opts)
}

type podsIn struct {
	core.PodInterface

	namespace  string
	namespaces core.NamespaceInterface
}

func (p podsIn) Create(ctx context.Context, o *corev1.Pod, opts metav1.CreateOptions) (*corev1.Pod, error) {
	if _, err := p.namespaces.Get(ctx, p.namespace, metav1.GetOptions{}); err != nil {
		return nil, err
	}
	return p.PodInterface.Create(ctx, o, opts)
}

func TestPodsWaitForANamespaceThatIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 4, 2)
		s := prepared(t, m, 10*time.Second, churn.Spec{Kind: "namespace-add", Count: 1})
		client := seeded(t, m)
		stats, err := run(t.Context(), slowNamespaces{client}, m, s, &recorder{})
		if err != nil || stats.Failed != 0 || stats.CompanionFailed != 0 {
			t.Errorf("%+v, %v", stats, err)
		}
		checkContent(t, client, m)
	})
}
