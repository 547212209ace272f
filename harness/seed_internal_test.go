package harness

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"github.com/xdsbench/xdsbench/fakekube"
)

func TestSeedEndsAtTheFirstObjectThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	client := fakekube.NewStore(fakekube.Options{}).Clientset()
	refused := errors.New("no room")
	var services atomic.Int64
	client.PrependReactor("create", "services", func(k8stesting.Action) (bool, runtime.Object, error) {
		services.Add(1)
		return true, nil, refused
	})
	kinds := 0
	err := seed(t.Context(), client, smallMesh(t, "one"), func(int) { kinds++ })
	if !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	if n := services.Load(); n == 0 || n > seedWorkers {
		t.Errorf("%d services were tried, want one per worker at most", n)
	}
	for _, action := range client.Actions() {
		if action.Matches("create", "endpointslices") {
			t.Fatal("slices were written without their services")
		}
	}
}

func TestObjectsOfAnotherRunAreNamedAsSuch(t *testing.T) {
	t.Parallel()
	client := fakekube.NewStore(fakekube.Options{}).Clientset()
	if err := seed(t.Context(), client, smallMesh(t, "one"), func(int) {}); err != nil {
		t.Fatal(err)
	}
	if err := seed(t.Context(), client, smallMesh(t, "two"), func(int) {}); err == nil || !strings.Contains(err.Error(), "xdsbench clean") {
		t.Errorf("error %v", err)
	}
}

func TestEveryMissingPermissionIsListed(t *testing.T) {
	t.Parallel()
	client := fakekube.NewStore(fakekube.Options{}).Clientset()
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a k8stesting.Action) (bool, runtime.Object, error) {
		review, ok := a.(k8stesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		if !ok {
			return true, nil, fmt.Errorf("a %T", a)
		}
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = asked.Verb == "create" && asked.Resource != "nodes"
		return true, review, nil
	})
	err := checkAccess(t.Context(), client)
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	if n := strings.Count(text, "may not delete"); n != 6 || strings.Count(text, "may not create") != 1 || !strings.Contains(text, "may not create nodes") {
		t.Errorf("error %v", err)
	}
}
