package store

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
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
