package fakekube

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtinKinds are the kinds that kube-apiserver 1.36 serves by default and
// whose types client-go knows, one a line:
//
//	apiVersion kind plural scope flags shortNames categories
//
// Scope is N (namespaced) or C (cluster). Flags: s status subresource,
// g counts spec changes in metadata.generation, u an update may create,
// c an update must name a resourceVersion, d deletion answers with the object.
const builtinKinds = `
v1 ConfigMap configmaps N - cm -
v1 Endpoints endpoints N u ep -
v1 Event events N u ev -
v1 LimitRange limitranges N u limits -
v1 Namespace namespaces C sd ns -
v1 Node nodes C s no -
v1 PersistentVolumeClaim persistentvolumeclaims N sd pvc -
v1 PersistentVolume persistentvolumes C sd pv -
v1 Pod pods N sgd po all
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
apps/v1 ControllerRevision controllerrevisions N - - -
apps/v1 DaemonSet daemonsets N sg ds all
apps/v1 Deployment deployments N sg deploy all
apps/v1 ReplicaSet replicasets N sg rs all
apps/v1 StatefulSet statefulsets N sg sts all
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

// parseKinds reads builtinKinds, in order.
func parseKinds() []*resource {
	var kinds []*resource
	for line := range strings.Lines(builtinKinds) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		gv := parseGroupVersion(f[0])
		r := &resource{
			gvk:            gv.WithKind(f[1]),
			gvr:            gv.WithResource(f[2]),
			singular:       strings.ToLower(f[1]),
			listKind:       f[1] + "List",
			namespaced:     f[3] == "N",
			typed:          true,
			status:         strings.Contains(f[4], "s"),
			generation:     strings.Contains(f[4], "g"),
			createOnUpdate: strings.Contains(f[4], "u"),
			conditional:    strings.Contains(f[4], "c"),
			returnDeleted:  strings.Contains(f[4], "d"),
			shortNames:     splitNames(f[5]),
			categories:     splitNames(f[6]),
		}
		if r.gvr.Group == "" && r.gvr.Resource == "pods" {
			r.decode = decodePod // each proxy has a pod
		}
		r.prepareHeads()
		kinds = append(kinds, r)
	}
	return kinds
}

func splitNames(s string) []string {
	if s == "-" {
		return nil
	}
	return strings.Split(s, ",")
}

// parseGroupVersion splits "group/version" or "version"; unlike
// schema.ParseGroupVersion it cannot fail.
func parseGroupVersion(s string) schema.GroupVersion {
	group, version, ok := strings.Cut(s, "/")
	if !ok {
		return schema.GroupVersion{Version: group}
	}
	return schema.GroupVersion{Group: group, Version: version}
}

// newTyped makes an empty object of a kind of client-go's scheme.
func (s *Store) newTyped(gvk schema.GroupVersionKind) (runtime.Object, error) {
	return s.scheme.New(gvk)
}

func decodePod(raw []byte) (runtime.Object, error) {
	pod := &corev1.Pod{}
	return pod, pod.Unmarshal(raw)
}
