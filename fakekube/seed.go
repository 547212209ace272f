package fakekube

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// istioKinds are the custom resources of Istio 1.31 (base/files/crd-all.gen.yaml),
// one a line:
//
//	group kind plural shortName versions [column=jsonPath ...]
//
// The version with * is the one objects are stored in. All are namespaced and
// have the status subresource.
const istioKinds = `
extensions.istio.io TrafficExtension trafficextensions - v1alpha1*
extensions.istio.io WasmPlugin wasmplugins - v1alpha1*
networking.istio.io DestinationRule destinationrules dr v1*,v1alpha3,v1beta1 Host=.spec.host
networking.istio.io EnvoyFilter envoyfilters - v1alpha3*
networking.istio.io Gateway gateways gw v1*,v1alpha3,v1beta1
networking.istio.io ProxyConfig proxyconfigs - v1beta1*
networking.istio.io ServiceEntry serviceentries se v1*,v1alpha3,v1beta1 Hosts=.spec.hosts Location=.spec.location Resolution=.spec.resolution
networking.istio.io Sidecar sidecars - v1*,v1alpha3,v1beta1
networking.istio.io VirtualService virtualservices vs v1*,v1alpha3,v1beta1 Gateways=.spec.gateways Hosts=.spec.hosts
networking.istio.io WorkloadEntry workloadentries we v1*,v1alpha3,v1beta1 Address=.spec.address
networking.istio.io WorkloadGroup workloadgroups wg v1*,v1alpha3,v1beta1
security.istio.io AuthorizationPolicy authorizationpolicies ap v1*,v1beta1 Action=.spec.action
security.istio.io PeerAuthentication peerauthentications pa v1*,v1beta1 Mode=.spec.mtls.mode
security.istio.io RequestAuthentication requestauthentications ra v1*,v1beta1
telemetry.istio.io Telemetry telemetries telemetry v1,v1alpha1*
`

// seed registers the built-in kinds and makes the objects a store begins with.
// These are constants of this package, so an error is a mistake in it.
func (s *Store) seed() {
	kinds := append(parseKinds(), crdKind())
	for _, r := range kinds {
		r.storage, r.table = r, s.tableFor(r.groupResource())
	}
	s.kinds.add(kinds...)
	s.shareEvents()
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, "istio-system"} {
		s.mustCreate(corev1.SchemeGroupVersion.WithResource("namespaces"),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	if s.opts.WithoutIstio {
		return
	}
	for line := range strings.Lines(istioKinds) {
		if f := strings.Fields(line); len(f) > 0 {
			s.mustCreate(crdResource().WithVersion("v1"), istioDefinition(f))
		}
	}
}

// shareEvents serves the Events of both groups from one table.
func (s *Store) shareEvents() {
	core := s.kinds.byGVR[corev1.SchemeGroupVersion.WithResource("events")]
	view := s.kinds.byGVR[schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}]
	view.table, view.storage = core.table, core
}

func (s *Store) mustCreate(gvr schema.GroupVersionResource, obj runtime.Object) {
	res, err := s.kinds.lookup(gvr)
	if err == nil {
		_, err = s.create(res, "", obj, writeOptions{})
	}
	if err != nil {
		panic(fmt.Sprintf("fakekube: a built-in object is wrong: %v", err))
	}
}

func istioDefinition(f []string) *unstructured.Unstructured {
	group, kind, plural := f[0], f[1], f[2]
	names := map[string]any{
		"kind": kind, "plural": plural, "singular": strings.ToLower(kind), "listKind": kind + "List",
		"categories": []any{"istio-io", strings.ReplaceAll(group, ".istio.io", "-istio-io")},
	}
	if f[3] != "-" {
		names["shortNames"] = []any{f[3]}
	}
	columns := []any{}
	for _, c := range f[5:] {
		name, path, _ := strings.Cut(c, "=")
		columns = append(columns, map[string]any{"name": name, "type": "string", "jsonPath": path})
	}
	columns = append(columns, map[string]any{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"})
	var versions []any
	for v := range strings.SplitSeq(f[4], ",") {
		name, storage := strings.CutSuffix(v, "*")
		versions = append(versions, map[string]any{
			"name": name, "served": true, "storage": storage,
			"subresources":             map[string]any{"status": map[string]any{}},
			"additionalPrinterColumns": columns,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			}},
		})
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": group, "scope": "Namespaced", "names": names, "versions": versions,
	}}}
	u.SetName(plural + "." + group)
	return u
}

// afterWrite does what follows from a stored object: a definition is served.
func (s *Store) afterWrite(res *resource, rec *record) error {
	if res.groupResource() != crdResource() {
		return nil
	}
	return s.serveCustom(rec)
}
