package kinds

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtinKinds are the kinds that kube-apiserver 1.36 serves by default and
// client-go has the types of, one a line:
//
//	apiVersion kind plural scope flags shortNames categories
//
// Scope is N (namespaced) or C (cluster-scoped). The flags set the fields of
// Resource: s Status, g Generation, u AllowCreateOnUpdate, c RequireVersion,
// d ReturnDeleted, e EncodedOnly, r Review, x not Typed.
const builtinKinds = `
v1 ConfigMap configmaps N - cm -
v1 Endpoints endpoints N u ep -
v1 Event events N u ev -
v1 LimitRange limitranges N u limits -
v1 Namespace namespaces C sd ns -
v1 Node nodes C s no -
v1 PersistentVolumeClaim persistentvolumeclaims N sd pvc -
v1 PersistentVolume persistentvolumes C sd pv -
v1 Pod pods N sgde po all
v1 PodTemplate podtemplates N gd - -
v1 ReplicationController replicationcontrollers N sg rc all
v1 ResourceQuota resourcequotas N sd quota -
v1 Secret secrets N - - -
v1 ServiceAccount serviceaccounts N d sa -
v1 Service services N sud svc all
admissionregistration.k8s.io/v1 MutatingAdmissionPolicy mutatingadmissionpolicies C gc - api-extensions
admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings C gc - api-extensions
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration mutatingwebhookconfigurations C gc - api-extensions
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy validatingadmissionpolicies C sgc - api-extensions
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings C gc - api-extensions
admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration validatingwebhookconfigurations C gc - api-extensions
apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions C sgcx crd,crds api-extensions
apps/v1 ControllerRevision controllerrevisions N - - -
apps/v1 DaemonSet daemonsets N sg ds all
apps/v1 Deployment deployments N sg deploy all
apps/v1 ReplicaSet replicasets N sg rs all
apps/v1 StatefulSet statefulsets N sg sts all
authentication.k8s.io/v1 SelfSubjectReview selfsubjectreviews C r - -
authentication.k8s.io/v1 TokenReview tokenreviews C r - -
authorization.k8s.io/v1 LocalSubjectAccessReview localsubjectaccessreviews N r - -
authorization.k8s.io/v1 SelfSubjectAccessReview selfsubjectaccessreviews C r - -
authorization.k8s.io/v1 SelfSubjectRulesReview selfsubjectrulesreviews C r - -
authorization.k8s.io/v1 SubjectAccessReview subjectaccessreviews C r - -
autoscaling/v2 HorizontalPodAutoscaler horizontalpodautoscalers N s hpa all
batch/v1 CronJob cronjobs N sg cj all
batch/v1 Job jobs N sg - all
certificates.k8s.io/v1 CertificateSigningRequest certificatesigningrequests C s csr -
coordination.k8s.io/v1 Lease leases N uc - -
discovery.k8s.io/v1 EndpointSlice endpointslices N g - -
events.k8s.io/v1 Event events N u ev -
flowcontrol.apiserver.k8s.io/v1 FlowSchema flowschemas C sg - -
flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration prioritylevelconfigurations C sg - -
networking.k8s.io/v1 IngressClass ingressclasses C g - -
networking.k8s.io/v1 Ingress ingresses N sg ing -
networking.k8s.io/v1 IPAddress ipaddresses C - ip -
networking.k8s.io/v1 NetworkPolicy networkpolicies N g netpol -
networking.k8s.io/v1 ServiceCIDR servicecidrs C s - -
node.k8s.io/v1 RuntimeClass runtimeclasses C uc - -
policy/v1 PodDisruptionBudget poddisruptionbudgets N sgc pdb -
rbac.authorization.k8s.io/v1 ClusterRoleBinding clusterrolebindings C u - -
rbac.authorization.k8s.io/v1 ClusterRole clusterroles C u - -
rbac.authorization.k8s.io/v1 RoleBinding rolebindings N u - -
rbac.authorization.k8s.io/v1 Role roles N u - -
resource.k8s.io/v1 DeviceClass deviceclasses C gd - -
resource.k8s.io/v1 ResourceClaim resourceclaims N sd - -
resource.k8s.io/v1 ResourceClaimTemplate resourceclaimtemplates N d - -
resource.k8s.io/v1 ResourceSlice resourceslices C gd - -
scheduling.k8s.io/v1 PriorityClass priorityclasses C - pc -
storage.k8s.io/v1 CSIDriver csidrivers C gcd - -
storage.k8s.io/v1 CSINode csinodes C cd - -
storage.k8s.io/v1 CSIStorageCapacity csistoragecapacities N c - -
storage.k8s.io/v1 StorageClass storageclasses C d sc -
storage.k8s.io/v1 VolumeAttachment volumeattachments C scd - -
storage.k8s.io/v1 VolumeAttributesClass volumeattributesclasses C d vac -
`

// Builtin returns the kinds that are always served, in the order of discovery.
func Builtin() []*Resource {
	var all []*Resource
	events := map[string]*Resource{}
	for line := range strings.Lines(builtinKinds) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		gv, _ := schema.ParseGroupVersion(f[0]) // The constants above are well formed.
		flag := func(name string) bool { return strings.Contains(f[4], name) }
		r := &Resource{
			GVK:                 gv.WithKind(f[1]),
			GVR:                 gv.WithResource(f[2]),
			Singular:            strings.ToLower(f[1]),
			ListKind:            f[1] + "List",
			Namespaced:          f[3] == "N",
			Typed:               !flag("x"),
			Status:              flag("s"),
			Review:              flag("r"),
			Generation:          flag("g"),
			AllowCreateOnUpdate: flag("u"),
			RequireVersion:      flag("c"),
			ReturnDeleted:       flag("d"),
			EncodedOnly:         flag("e"),
			ShortNames:          names(f[5]),
			Categories:          names(f[6]),
		}
		r.Storage = r
		switch r.GroupResource() {
		case Definitions():
			r.Columns = []Column{{Name: "Created At", Type: "string", Path: ".metadata.creationTimestamp"}}
		case schema.GroupResource{Resource: "events"}, schema.GroupResource{Group: "events.k8s.io", Resource: "events"}:
			events[gv.Group] = r
		}
		all = append(all, r)
	}
	// Events of both groups are the same objects.
	events["events.k8s.io"].Storage = events[""]
	return all
}

func names(list string) []string {
	if list == "-" {
		return nil
	}
	return strings.Split(list, ",")
}
