package kinds

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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

// IstioDefinitions returns the CustomResourceDefinitions of Istio's kinds, not yet
// established.
func IstioDefinitions() ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for line := range strings.Lines(istioKinds) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		d := istioDefinition(f)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&d)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetName(d.Spec.Names.Plural + "." + d.Spec.Group)
		out = append(out, u)
	}
	return out, nil
}

func istioDefinition(f []string) definition {
	var d definition
	group, kind, plural, shortName, versions, columns := f[0], f[1], f[2], f[3], f[4], f[5:]
	d.Spec.Group, d.Spec.Scope = group, "Namespaced"
	d.Spec.Names = definitionNames{
		Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List",
		Categories: []string{"istio-io", strings.ReplaceAll(group, ".istio.io", "-istio-io")},
		ShortNames: names(shortName),
	}
	var v definitionVersion
	v.Served, v.Subresources.Status = true, &struct{}{}
	v.Schema = map[string]any{"openAPIV3Schema": map[string]any{
		"type": "object", "x-kubernetes-preserve-unknown-fields": true,
	}}
	for _, c := range columns {
		name, path, _ := strings.Cut(c, "=")
		v.Columns = append(v.Columns, definitionColumn{Name: name, Type: "string", JSONPath: path})
	}
	v.Columns = append(v.Columns, definitionColumn{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"})
	for name := range strings.SplitSeq(versions, ",") {
		v.Name, v.Storage = strings.CutSuffix(name, "*")
		d.Spec.Versions = append(d.Spec.Versions, v)
	}
	return d
}
