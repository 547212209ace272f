package fakekube

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// setDefaults fills in what Kubernetes' defaulting fills in, for the kinds
// where a control plane sees the difference (pkg/apis/*/v1/defaults.go).
func setDefaults(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Service:
		defaultService(&o.Spec)
	case *corev1.Pod:
		defaultPod(&o.Spec)
	case *corev1.Endpoints: //nolint:staticcheck // Deprecated, and still served.
		for i := range o.Subsets {
			for j := range o.Subsets[i].Ports {
				setZero(&o.Subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
			}
		}
	case *discoveryv1.EndpointSlice:
		for i := range o.Ports {
			setNil(&o.Ports[i].Name, "")
			setNil(&o.Ports[i].Protocol, corev1.ProtocolTCP)
		}
	case *corev1.Secret:
		setZero(&o.Type, corev1.SecretTypeOpaque)
		for name, value := range o.StringData {
			if o.Data == nil {
				o.Data = map[string][]byte{}
			}
			o.Data[name] = []byte(value)
		}
		o.StringData = nil
	case *corev1.Namespace:
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		o.Labels[corev1.LabelMetadataName] = o.Name
	}
}

func setZero[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

func setNil[T any](p **T, value T) {
	if *p == nil {
		*p = &value
	}
}

func defaultService(spec *corev1.ServiceSpec) {
	setZero(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP && spec.SessionAffinityConfig == nil {
		timeout := corev1.DefaultClientIPServiceAffinitySeconds
		spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &timeout}}
	}
	setZero(&spec.Type, corev1.ServiceTypeClusterIP)
	for i := range spec.Ports {
		p := &spec.Ports[i]
		setZero(&p.Protocol, corev1.ProtocolTCP)
		if p.TargetPort == (intstr.IntOrString{}) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	if spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer {
		setZero(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		setNil(&spec.AllocateLoadBalancerNodePorts, true)
	}
	if spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	setNil(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	setNil(&spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
		if spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0 {
			// A headless service without selector leaves the families open.
			spec.IPFamilies = append(spec.IPFamilies, corev1.IPv6Protocol)
			*spec.IPFamilyPolicy = corev1.IPFamilyPolicyRequireDualStack
		}
	}
}

func defaultPod(spec *corev1.PodSpec) {
	setZero(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	setZero(&spec.DNSPolicy, corev1.DNSClusterFirst)
	setZero(&spec.SchedulerName, corev1.DefaultSchedulerName)
	setNil(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	setNil(&spec.SecurityContext, corev1.PodSecurityContext{})
	setNil(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	setZero(&spec.DeprecatedServiceAccount, spec.ServiceAccountName)
	setZero(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			c := &list[i]
			setZero(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
			setZero(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
			setZero(&c.ImagePullPolicy, pullPolicy(c.Image))
			for j := range c.Ports {
				setZero(&c.Ports[j].Protocol, corev1.ProtocolTCP)
			}
		}
	}
}

// pullPolicy is Always for an image without a tag or with the tag latest.
func pullPolicy(image string) corev1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	if tag := name[strings.LastIndex(name, ":")+1:]; tag != name && tag != "latest" {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

func hasResources(c corev1.Container) bool {
	return len(c.Resources.Requests)+len(c.Resources.Limits) > 0
}

// prepareCreate does what the kinds' create strategies do.
func prepareCreate(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort}
		if slices.ContainsFunc(o.Spec.Containers, hasResources) {
			o.Status.QOSClass = corev1.PodQOSBurstable
		}
	case *corev1.Namespace:
		o.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
		o.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
	case *corev1.PersistentVolumeClaim:
		o.Status.Phase = corev1.ClaimPending
	case *corev1.PersistentVolume:
		o.Status.Phase = corev1.VolumePending
	}
}

// prepareUpdate does what the kinds' update strategies do.
func (s *Store) prepareUpdate(obj, old runtime.Object) error {
	switch o := obj.(type) {
	case *corev1.Service:
		was, ok := old.(*corev1.Service)
		if !ok {
			return nil
		}
		return s.keepAddress(o, was)
	case *corev1.Namespace:
		if was, ok := old.(*corev1.Namespace); ok {
			o.Spec.Finalizers = was.Spec.Finalizers
		}
	case *corev1.Secret:
		if was, ok := old.(*corev1.Secret); ok && o.Type != was.Type {
			return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(), o.Name, field.ErrorList{
				field.Invalid(field.NewPath("type"), o.Type, "field is immutable"),
			})
		}
	}
	return nil
}

// keepAddress carries a service's address over to its update, which may leave
// it out but not change it.
func (s *Store) keepAddress(svc, was *corev1.Service) error {
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	if was.Spec.Type == corev1.ServiceTypeExternalName {
		if svc.Spec.ClusterIP != "" {
			return nil
		}
		return s.assignAddress(svc)
	}
	if svc.Spec.ClusterIP == "" {
		svc.Spec.ClusterIP = was.Spec.ClusterIP
	}
	if len(svc.Spec.ClusterIPs) == 0 {
		svc.Spec.ClusterIPs = was.Spec.ClusterIPs
	}
	if svc.Spec.ClusterIP == was.Spec.ClusterIP {
		return nil
	}
	path := field.NewPath("spec", "clusterIPs").Index(0)
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), svc.Name, field.ErrorList{
		field.Invalid(path, fmt.Sprintf("[%q]", svc.Spec.ClusterIP), "may not change once set"),
	})
}
