package fakekube_test

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
)

func patchTests() []test {
	return []test{
		{"MergePatch", testMergePatch},
		{"JSONPatch", testJSONPatch},
		{"StrategicMergePatch", testStrategicPatch},
		{"BadPatches", testBadPatches},
		{"ServerSideApply", testApply},
		{"ApplyConflicts", testApplyConflict},
	}
}

func testMergePatch(t *serverTest) {
	ns := t.namespace(t)
	a := t.configMap(t, ns, "a", map[string]string{"old": "x"})
	maps := t.client.CoreV1().ConfigMaps(ns)
	got := must(maps.Patch(t.Context(), "a", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"old":null,"new":"y"}},"data":{"more":"z"}}`), metav1.PatchOptions{}))(t)
	if got.Labels["old"] != "" || got.Labels["new"] != "y" || got.Data["more"] != "z" || got.Data["key"] != "value" {
		t.Errorf("patched: %v %v", got.Labels, got.Data)
	}
	if got.ResourceVersion == a.ResourceVersion {
		t.Error("the version did not change")
	}
	same := must(maps.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"data":{"more":"z"}}`), metav1.PatchOptions{}))(t)
	want(t, "version after a patch that changes nothing", same.ResourceVersion, got.ResourceVersion)
	_, err := maps.Patch(t.Context(), "a", types.MergePatchType,
		[]byte(`{"metadata":{"resourceVersion":"`+a.ResourceVersion+`"},"data":{"more":"stale"}}`), metav1.PatchOptions{})
	wantError(t, "patch of a stale version", err, apierrors.IsConflict)
}

func testJSONPatch(t *serverTest) {
	ns := t.namespace(t)
	t.configMap(t, ns, "a", nil)
	maps := t.client.CoreV1().ConfigMaps(ns)
	got := must(maps.Patch(t.Context(), "a", types.JSONPatchType,
		[]byte(`[{"op":"test","path":"/data/key","value":"value"},{"op":"replace","path":"/data/key","value":"new"}]`), metav1.PatchOptions{}))(t)
	want(t, "data", got.Data["key"], "new")
	_, err := maps.Patch(t.Context(), "a", types.JSONPatchType,
		[]byte(`[{"op":"test","path":"/data/key","value":"value"}]`), metav1.PatchOptions{})
	wantError(t, "a failing test", err, apierrors.IsInvalid)
}

func testStrategicPatch(t *serverTest) {
	services := t.client.CoreV1().Services(t.namespace(t))
	must(services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "x", Port: 80}, {Name: "y", Port: 81}}},
	}, metav1.CreateOptions{}))(t)
	got := must(services.Patch(t.Context(), "a", types.StrategicMergePatchType,
		[]byte(`{"spec":{"ports":[{"port":81,"name":"z"},{"port":82,"name":"new"},{"port":80,"$patch":"delete"}]}}`), metav1.PatchOptions{}))(t)
	var names []string
	for _, p := range got.Spec.Ports {
		names = append(names, p.Name)
	}
	want(t, "ports", strings.Join(names, " "), "z new")
	want(t, "defaulted protocol", got.Spec.Ports[1].Protocol, corev1.ProtocolTCP)
}

func testBadPatches(t *serverTest) {
	ns := t.namespace(t)
	t.configMap(t, ns, "a", nil)
	maps := t.client.CoreV1().ConfigMaps(ns)
	patch := func(name string, kind types.PatchType, data string) error {
		_, err := maps.Patch(t.Context(), name, kind, []byte(data), metav1.PatchOptions{})
		return err
	}
	wantError(t, "no object", patch("none", types.MergePatchType, `{}`), apierrors.IsNotFound)
	wantError(t, "another name", patch("a", types.MergePatchType, `{"metadata":{"name":"b"}}`), apierrors.IsBadRequest)
	wantError(t, "not an object", patch("a", types.MergePatchType, `[]`), apierrors.IsBadRequest)
	wantError(t, "not a list", patch("a", types.JSONPatchType, `{}`), apierrors.IsBadRequest)
	wantError(t, "unknown type", patch("a", "application/json", `{}`), apierrors.IsUnsupportedMediaType)
	wantError(t, "apply without manager", patch("a", types.ApplyYAMLPatchType, `{}`), apierrors.IsInvalid)
}

func testApply(t *serverTest) {
	ns := t.namespace(t)
	maps := t.client.CoreV1().ConfigMaps(ns)
	config := applycorev1.ConfigMap("a", ns).WithData(map[string]string{"one": "1", "two": "2"})
	made := must(maps.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: "m"}))(t)
	want(t, "data", len(made.Data), 2)
	again := must(maps.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: "m"}))(t)
	want(t, "version after the same again", again.ResourceVersion, made.ResourceVersion)
	config = applycorev1.ConfigMap("a", ns).WithData(map[string]string{"two": "2", "three": "3"}).WithLabels(map[string]string{"x": "y"})
	got := must(maps.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: "m"}))(t)
	if got.Data["one"] != "" || got.Data["three"] != "3" || got.Labels["x"] != "y" {
		t.Errorf("applied: %v %v", got.Data, got.Labels)
	}
	other := applycorev1.ConfigMap("a", ns).WithData(map[string]string{"four": "4"})
	got = must(maps.Apply(t.Context(), other, metav1.ApplyOptions{FieldManager: "n"}))(t)
	want(t, "data of both managers", len(got.Data), 3)
}

func testApplyConflict(t *serverTest) {
	ns := t.namespace(t)
	maps := t.client.CoreV1().ConfigMaps(ns)
	config := func(value string) *applycorev1.ConfigMapApplyConfiguration {
		return applycorev1.ConfigMap("a", ns).WithData(map[string]string{"k": value})
	}
	must(maps.Apply(t.Context(), config("1"), metav1.ApplyOptions{FieldManager: "m"}))(t)
	_, err := maps.Apply(t.Context(), config("2"), metav1.ApplyOptions{FieldManager: "n"})
	wantError(t, "apply over another manager", err, apierrors.IsConflict)
	got := must(maps.Apply(t.Context(), config("2"), metav1.ApplyOptions{FieldManager: "n", Force: true}))(t)
	want(t, "forced", got.Data["k"], "2")

	got.Data["k"] = "3"
	must(maps.Update(t.Context(), got, metav1.UpdateOptions{FieldManager: "u"}))(t)
	_, err = maps.Apply(t.Context(), config("4"), metav1.ApplyOptions{FieldManager: "n"})
	wantError(t, "apply over an update", err, apierrors.IsConflict)
}
