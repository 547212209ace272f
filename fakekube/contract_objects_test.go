package fakekube_test

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func objectTests() []test {
	return []test{
		{"CreateGetUpdateDelete", testCRUD},
		{"StaleUpdateConflicts", testConflict},
		{"UnchangedUpdateKeepsVersion", testNoop},
		{"GenerateName", testGenerateName},
		{"MissingNamespace", testMissingNamespace},
		{"InvalidObjects", testInvalid},
		{"Selectors", testSelectors},
		{"DeleteCollection", testDeleteCollection},
		{"DeletePreconditions", testPreconditions},
		{"FinalizersHoldDeletion", testFinalizers},
		{"PodsWithNodeDieGracefully", testGracefulPod},
		{"DryRunStoresNothing", testDryRun},
		{"ServiceDefaults", testService},
		{"EndpointSliceDefaultsAndGeneration", testSlice},
		{"SecretStringData", testSecret},
		{"ListVersions", testListVersions},
	}
}

func testCRUD(t *serverTest) {
	maps := t.client.CoreV1().ConfigMaps(t.namespace(t))
	made := must(maps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"},
	}, metav1.CreateOptions{}))(t)
	if made.UID == "" || made.ResourceVersion == "" || made.CreationTimestamp.IsZero() {
		t.Errorf("system fields are missing: %+v", made.ObjectMeta)
	}
	_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	wantError(t, "create again", err, apierrors.IsAlreadyExists)

	made.Data["k"] = "w"
	made.UID = ""
	updated := must(maps.Update(t.Context(), made, metav1.UpdateOptions{}))(t)
	if updated.ResourceVersion == made.ResourceVersion || updated.UID == "" {
		t.Errorf("the update left version %q and uid %q", updated.ResourceVersion, updated.UID)
	}
	got := must(maps.Get(t.Context(), "a", metav1.GetOptions{}))(t)
	want(t, "data", got.Data["k"], "w")
	want(t, "version", got.ResourceVersion, updated.ResourceVersion)

	if err := maps.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = maps.Get(t.Context(), "a", metav1.GetOptions{})
	wantError(t, "get after delete", err, apierrors.IsNotFound)
	wantError(t, "delete again", maps.Delete(t.Context(), "a", metav1.DeleteOptions{}), apierrors.IsNotFound)
	_, err = maps.Update(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.UpdateOptions{})
	wantError(t, "update after delete", err, apierrors.IsNotFound)
}

func testConflict(t *serverTest) {
	ns := t.namespace(t)
	first := t.configMap(t, ns, "a", nil)
	second := first.DeepCopy()
	second.Data["key"] = "newer"
	second = must(t.client.CoreV1().ConfigMaps(ns).Update(t.Context(), second, metav1.UpdateOptions{}))(t)
	first.Data["key"] = "stale"
	_, err := t.client.CoreV1().ConfigMaps(ns).Update(t.Context(), first, metav1.UpdateOptions{})
	wantError(t, "stale update", err, apierrors.IsConflict)

	second.ResourceVersion = ""
	second.Data["key"] = "unconditional"
	if _, err := t.client.CoreV1().ConfigMaps(ns).Update(t.Context(), second, metav1.UpdateOptions{}); err != nil {
		t.Errorf("an update without version: %v", err)
	}
	second.UID = "other"
	_, err = t.client.CoreV1().ConfigMaps(ns).Update(t.Context(), second, metav1.UpdateOptions{})
	wantError(t, "update of another uid", err, apierrors.IsConflict)
}

func testNoop(t *serverTest) {
	ns := t.namespace(t)
	a := t.configMap(t, ns, "a", nil)
	again := must(t.client.CoreV1().ConfigMaps(ns).Update(t.Context(), a, metav1.UpdateOptions{}))(t)
	want(t, "version after an update that changes nothing", again.ResourceVersion, a.ResourceVersion)
}

func testGenerateName(t *serverTest) {
	maps := t.client.CoreV1().ConfigMaps(t.namespace(t))
	seen := map[string]bool{}
	for range 3 {
		cm := must(maps.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "gen-"},
		}, metav1.CreateOptions{}))(t)
		if !strings.HasPrefix(cm.Name, "gen-") || len(cm.Name) != len("gen-")+5 || seen[cm.Name] {
			t.Errorf("generated name %q", cm.Name)
		}
		seen[cm.Name] = true
	}
}

func testMissingNamespace(t *serverTest) {
	maps := t.client.CoreV1().ConfigMaps("contract-missing")
	_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	wantError(t, "create", err, apierrors.IsNotFound)
	if err == nil || !strings.Contains(err.Error(), `namespaces "contract-missing" not found`) {
		t.Errorf("the error does not name the namespace: %v", err)
	}
	list := must(maps.List(t.Context(), metav1.ListOptions{}))(t)
	want(t, "items", len(list.Items), 0)
}

func testInvalid(t *serverTest) {
	ns := t.namespace(t)
	maps := t.client.CoreV1().ConfigMaps(ns)
	for _, meta := range []metav1.ObjectMeta{
		{}, {Name: "Upper_Case"}, {Name: "a", Labels: map[string]string{"bad label": "x"}},
	} {
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{})
		wantError(t, "create "+meta.Name, err, apierrors.IsInvalid)
	}
	_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}, metav1.CreateOptions{})
	wantError(t, "create in another namespace", err, apierrors.IsBadRequest)
	_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}}, metav1.CreateOptions{})
	if err == nil {
		t.Error("an object with a resourceVersion was created")
	}
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a.b"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	_, err = t.client.CoreV1().Services(ns).Create(t.Context(), svc, metav1.CreateOptions{})
	wantError(t, "create a service named a.b", err, apierrors.IsInvalid)
}

func testSelectors(t *serverTest) {
	ns := t.namespace(t)
	for _, p := range []*corev1.Pod{pod("a", ""), pod("b", "node-b"), pod("c", "")} {
		must(t.client.CoreV1().Pods(ns).Create(t.Context(), p, metav1.CreateOptions{}))(t)
	}
	names := func(opts metav1.ListOptions) string {
		list := must(t.client.CoreV1().Pods(ns).List(t.Context(), opts))(t)
		out := map[string]bool{}
		for _, p := range list.Items {
			out[p.Name] = true
		}
		return strings.Join(slices.Sorted(maps.Keys(out)), "")
	}
	for _, c := range []struct{ labels, fields, expected string }{
		{"", "", "abc"},
		{"app=a", "", "a"},
		{"app in (a,b),app!=b", "", "a"},
		{"!app", "", ""},
		{"", "metadata.name=b", "b"},
		{"", "metadata.name!=b", "ac"},
		{"", "metadata.namespace=" + ns, "abc"},
		{"", "metadata.namespace=default", ""},
		{"", "spec.nodeName=node-b", "b"},
		{"", "status.phase!=Failed", "abc"},
		{"app=a", "spec.nodeName=node-b", ""},
	} {
		want(t, c.labels+" "+c.fields, names(metav1.ListOptions{LabelSelector: c.labels, FieldSelector: c.fields}), c.expected)
	}
	for _, opts := range []metav1.ListOptions{{FieldSelector: "spec.foo=1"}, {LabelSelector: "a=b=c"}, {FieldSelector: "spec"}} {
		_, err := t.client.CoreV1().Pods(ns).List(t.Context(), opts)
		wantError(t, opts.LabelSelector+opts.FieldSelector, err, apierrors.IsBadRequest)
	}
	must(t.client.CoreV1().Secrets(ns).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, Type: "contract/type",
	}, metav1.CreateOptions{}))(t)
	secrets := must(t.client.CoreV1().Secrets(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "type=contract/type"}))(t)
	want(t, "secrets by type", len(secrets.Items), 1)
}

func testDeleteCollection(t *serverTest) {
	ns := t.namespace(t)
	for _, name := range []string{"a", "b", "c"} {
		t.configMap(t, ns, name, map[string]string{"name": name})
	}
	maps := t.client.CoreV1().ConfigMaps(ns)
	if err := maps.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "name!=b"}); err != nil {
		t.Fatal(err)
	}
	list := must(maps.List(t.Context(), metav1.ListOptions{}))(t)
	if len(list.Items) != 1 || list.Items[0].Name != "b" {
		t.Errorf("left: %v", list.Items)
	}
}

func testPreconditions(t *serverTest) {
	ns := t.namespace(t)
	a := t.configMap(t, ns, "a", nil)
	maps := t.client.CoreV1().ConfigMaps(ns)
	other, stale := a.UID+"x", "1"
	err := maps.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
	wantError(t, "delete another uid", err, apierrors.IsConflict)
	err = maps.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &stale}})
	wantError(t, "delete another version", err, apierrors.IsConflict)
	err = maps.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &a.UID, ResourceVersion: &a.ResourceVersion}})
	if err != nil {
		t.Errorf("delete with preconditions that hold: %v", err)
	}
}

func testFinalizers(t *serverTest) {
	maps := t.client.CoreV1().ConfigMaps(t.namespace(t))
	must(maps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Finalizers: []string{"contract.test/hold"}},
	}, metav1.CreateOptions{}))(t)
	for range 2 {
		if err := maps.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	held := must(maps.Get(t.Context(), "a", metav1.GetOptions{}))(t)
	if held.DeletionTimestamp == nil {
		t.Error("no deletionTimestamp")
	}
	held.Finalizers = nil
	if _, err := maps.Update(t.Context(), held, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := maps.Get(t.Context(), "a", metav1.GetOptions{})
	wantError(t, "get after the finalizer went", err, apierrors.IsNotFound)
}

func testGracefulPod(t *serverTest) {
	pods := t.client.CoreV1().Pods(t.namespace(t))
	for _, p := range []*corev1.Pod{pod("free", ""), pod("bound", "node-1")} {
		must(pods.Create(t.Context(), p, metav1.CreateOptions{}))(t)
		if err := pods.Delete(t.Context(), p.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := pods.Get(t.Context(), "free", metav1.GetOptions{})
	wantError(t, "get a pod without node", err, apierrors.IsNotFound)
	bound := must(pods.Get(t.Context(), "bound", metav1.GetOptions{}))(t)
	if bound.DeletionTimestamp == nil || bound.DeletionGracePeriodSeconds == nil || *bound.DeletionGracePeriodSeconds != 30 {
		t.Errorf("a pod with node: %+v", bound.ObjectMeta)
	}
	want(t, "generation", bound.Generation, 2)
	if err := pods.Delete(t.Context(), "bound", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	_, err = pods.Get(t.Context(), "bound", metav1.GetOptions{})
	wantError(t, "get after delete with grace 0", err, apierrors.IsNotFound)
}

func testDryRun(t *serverTest) {
	maps := t.client.CoreV1().ConfigMaps(t.namespace(t))
	made := must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))(t)
	if made.UID == "" {
		t.Error("a dry run does not show the object")
	}
	_, err := maps.Get(t.Context(), "a", metav1.GetOptions{})
	wantError(t, "get after a dry run", err, apierrors.IsNotFound)
}

func testService(t *serverTest) {
	services := t.client.CoreV1().Services(t.namespace(t))
	svc := must(services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "plain"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
			{Name: "http", Port: 80}, {Name: "named", Port: 81, TargetPort: intstr.FromString("web")},
		}},
	}, metav1.CreateOptions{}))(t)
	spec := svc.Spec
	if !strings.HasPrefix(spec.ClusterIP, "10.") || len(spec.ClusterIPs) != 1 || spec.ClusterIPs[0] != spec.ClusterIP {
		t.Errorf("addresses %q %q", spec.ClusterIP, spec.ClusterIPs)
	}
	want(t, "type", spec.Type, corev1.ServiceTypeClusterIP)
	want(t, "affinity", spec.SessionAffinity, corev1.ServiceAffinityNone)
	want(t, "protocol", spec.Ports[0].Protocol, corev1.ProtocolTCP)
	want(t, "targetPort", spec.Ports[0].TargetPort, intstr.FromInt32(80))
	want(t, "named targetPort", spec.Ports[1].TargetPort, intstr.FromString("web"))
	want(t, "families", len(spec.IPFamilies), 1)
	want(t, "family policy", *spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	want(t, "traffic policy", *spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	want(t, "generation", svc.Generation, 0)

	for _, ip := range []string{spec.ClusterIP, "1.2.3.4", "x"} {
		_, err := services.Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "refused"}, Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: spec.Ports},
		}, metav1.CreateOptions{})
		wantError(t, "create with address "+ip, err, apierrors.IsInvalid)
	}
	svc.Spec.ClusterIP, svc.Spec.ClusterIPs = "", nil
	svc.Labels = map[string]string{"a": "b"}
	kept := must(services.Update(t.Context(), svc, metav1.UpdateOptions{}))(t)
	want(t, "address after an update without", kept.Spec.ClusterIP, spec.ClusterIP)

	headless := must(services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "headless"},
		Spec:       corev1.ServiceSpec{ClusterIP: "None", Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}))(t)
	want(t, "headless", headless.Spec.ClusterIP+headless.Spec.ClusterIPs[0], "NoneNone")
	want(t, "headless families", len(headless.Spec.IPFamilies), 1)
}

func testSlice(t *serverTest) {
	slices := t.client.DiscoveryV1().EndpointSlices(t.namespace(t))
	port, ready := int32(80), true
	es := must(slices.Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "a", Labels: map[string]string{discoveryv1.LabelServiceName: "s"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.2.3"}}},
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	}, metav1.CreateOptions{}))(t)
	want(t, "generation", es.Generation, 1)
	want(t, "port name", *es.Ports[0].Name, "")
	want(t, "protocol", *es.Ports[0].Protocol, corev1.ProtocolTCP)
	if es.Endpoints[0].Conditions.Ready != nil {
		t.Error("the ready condition was defaulted")
	}
	es.Annotations = map[string]string{"note": "x"}
	es = must(slices.Update(t.Context(), es, metav1.UpdateOptions{}))(t)
	want(t, "generation after an annotation", es.Generation, 1)
	es.Endpoints[0].Conditions.Ready = &ready
	es = must(slices.Update(t.Context(), es, metav1.UpdateOptions{}))(t)
	want(t, "generation after a change of endpoints", es.Generation, 2)
	es.Labels["more"] = "x"
	es = must(slices.Update(t.Context(), es, metav1.UpdateOptions{}))(t)
	want(t, "generation after a label", es.Generation, 3)
}

func testSecret(t *serverTest) {
	secret := must(t.client.CoreV1().Secrets(t.namespace(t)).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, StringData: map[string]string{"k": "v"},
	}, metav1.CreateOptions{}))(t)
	want(t, "data", string(secret.Data["k"]), "v")
	want(t, "stringData", len(secret.StringData), 0)
	want(t, "type", secret.Type, corev1.SecretTypeOpaque)
}

func testListVersions(t *serverTest) {
	ns := t.namespace(t)
	maps := t.client.CoreV1().ConfigMaps(ns)
	a := t.configMap(t, ns, "a", nil)
	list := must(maps.List(t.Context(), metav1.ListOptions{ResourceVersion: a.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}))(t)
	want(t, "items", len(list.Items), 1)
	if list.ResourceVersion == "" || list.Items[0].Kind != "" {
		t.Errorf("list version %q, item kind %q", list.ResourceVersion, list.Items[0].Kind)
	}
	_, err := maps.List(t.Context(), metav1.ListOptions{ResourceVersion: "abc"})
	wantError(t, "list at version abc", err, apierrors.IsBadRequest)
	_, err = maps.List(t.Context(), metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	wantError(t, "list Exact without version", err, apierrors.IsInvalid)
}
