package kinds_test

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
)

func TestEveryTypedKindHasAList(t *testing.T) {
	t.Parallel()
	for _, r := range kinds.Builtin() {
		if !r.Typed || r.Review {
			continue
		}
		list, err := scheme.Scheme.New(r.GVK.GroupVersion().WithKind(r.ListKind))
		if err != nil || !meta.IsListType(list) {
			t.Errorf("%s has no list: %v", r.GVK, err)
		}
	}
}

// Changes of the spec are told from those of the status by the fields' numbers
// in protobuf; see the package object.
func TestStatusIsFieldThreeOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, r := range kinds.Builtin() {
		if !r.Typed || r.Review {
			continue
		}
		obj, err := scheme.Scheme.New(r.GVK)
		if err != nil {
			t.Fatal(err)
		}
		typ := reflect.TypeOf(obj).Elem()
		metadata, _ := typ.FieldByName("ObjectMeta")
		if !strings.HasPrefix(metadata.Tag.Get("protobuf"), "bytes,1,") {
			t.Errorf("%s: metadata is %q", r.GVK, metadata.Tag)
		}
		status, ok := typ.FieldByName("Status")
		if r.Status && (!ok || !strings.HasPrefix(status.Tag.Get("protobuf"), "bytes,3,")) {
			t.Errorf("%s: status is %q", r.GVK, status.Tag)
		}
	}
}
