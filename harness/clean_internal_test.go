package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/xdsbench/xdsbench/fakekube"
	"github.com/xdsbench/xdsbench/mesh"
)

// smallMesh is the mesh of a run.
func smallMesh(t *testing.T, runID string) *mesh.Mesh {
	t.Helper()
	spec := mesh.DefaultSpec()
	spec.Namespaces, spec.Services, spec.EndpointsPerService = 2, 4, 2
	m, err := mesh.New(mesh.Config{Spec: spec, Proxies: 3, Seed: 1, RunID: runID, ClusterName: "{service}.{namespace}:{port}"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// count returns how many namespaces and nodes there are.
func count(t *testing.T, client kubernetes.Interface) (namespaces, nodes int) {
	t.Helper()
	n, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(n.Items), len(o.Items)
}

func TestCleanRemovesWhatRunsCreatedAndNothingElse(t *testing.T) {
	t.Parallel()
	client := fakekube.NewStore(fakekube.Options{}).Clientset()
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "somebody-elses"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	before, _ := count(t, client)
	last := 0
	if err := seed(t.Context(), client, smallMesh(t, "one"), func(done int) { last = done }); err != nil {
		t.Fatal(err)
	}
	namespaces, nodes := count(t, client)
	created := namespaces - before + nodes
	if created < 3 || last < created {
		t.Fatalf("%d namespaces, %d nodes, %d objects written", namespaces, nodes, last)
	}
	if n, err := Clean(t.Context(), client, nil, "another"); n != 0 || err != nil {
		t.Errorf("of a run that was not: removed %d: %v", n, err)
	}
	if n, err := Clean(t.Context(), client, nil, "one"); n != created || err != nil {
		t.Errorf("removed %d, want %d: %v", n, created, err)
	}
	if namespaces, nodes = count(t, client); namespaces != before || nodes != 0 {
		t.Errorf("left: %d namespaces, %d nodes", namespaces, nodes)
	}
}

// bare is an API server without controllers, with so many namespaces of ours and one
// node. It keeps what is deleted if it is told to hold that.
func bare(t *testing.T, namespaces int, held func(*http.Request) bool) kubernetes.Interface {
	t.Helper()
	list := corev1.NamespaceList{}
	for i := range namespaces {
		list.Items = append(list.Items, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("xb-%d", i)}})
	}
	nodes := corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "xb-node-0"}}}}
	body := func(r *http.Request) io.ReadCloser {
		var answer any = metav1.Status{Status: metav1.StatusSuccess}
		switch path := r.URL.Path; {
		case r.Method != http.MethodGet:
		case path == "/api/v1/namespaces":
			answer = list
		case path == "/api/v1/nodes":
			answer = nodes
		case strings.HasSuffix(path, "/services"):
			answer = corev1.ServiceList{}
		default:
			answer = corev1.Namespace{} // it is never gone
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		return io.NopCloser(strings.NewReader(string(text)))
	}
	guard := newAPIGuard(transport{answer: func(r *http.Request) bool { return !held(r) }, body: body})
	config := &rest.Config{Host: "http://api", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	client, err := kubernetes.NewForConfigAndClient(config, &http.Client{Transport: guard})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestCleanEndsAtTheFirstRequestThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := bare(t, 9, func(r *http.Request) bool {
			return r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/endpointslices")
		})
		var err error
		if took := lasts(func() { _, err = Clean(t.Context(), client, nil, "") }); took > sweepLimit {
			t.Errorf("it took %s, want the bound of one request: %s", took, sweepLimit)
		}
		if !errors.Is(err, ErrLeftBehind) || !errors.Is(err, ErrNoAnswer) || !strings.Contains(fmt.Sprint(err), "namespace xb-0, ") || !strings.Contains(fmt.Sprint(err), "and 5 more") {
			t.Errorf("error %v", err)
		}
	})
}

func TestCleanThatIsCutShortNamesWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := bare(t, 2, never)
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		n, err := Clean(ctx, client, nil, "")
		if n != 1 || !errors.Is(err, ErrLeftBehind) || !strings.Contains(fmt.Sprint(err), "namespace xb-0, namespace xb-1") || strings.Contains(fmt.Sprint(err), "xb-node-0") {
			t.Errorf("removed %d, want the node: %v", n, err)
		}
	})
}

func TestCleanSaysWhatMayBeLeftIfItCannotList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := bare(t, 2, always)
		var err error
		if took := lasts(func() { _, err = Clean(t.Context(), client, nil, "run-1") }); took != requestLimit {
			t.Errorf("it took %s", took)
		}
		if !errors.Is(err, ErrLeftBehind) || !strings.Contains(fmt.Sprint(err), "run-1") {
			t.Errorf("error %v", err)
		}
	})
}

func TestCommandThatCleansUpNamesTheAPIServerAndTheRun(t *testing.T) {
	t.Parallel()
	r := &run{id: "4711", cfg: Config{Kubeconfig: "my/kc", Context: "prod"}}
	if got, want := r.cleanCommand(), "xdsbench clean --kubeconfig my/kc --context prod --run 4711"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
