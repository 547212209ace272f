package store

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// serviceRange is Kubernetes' usual range of service addresses. Its first
// address is the API server's.
func serviceRange() netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 96, 0, 0}), 12) }

// ipPool holds the service addresses in use, guarded by Store.mu.
type ipPool struct {
	used map[string]struct{}
	last netip.Addr // the newest that was chosen here
}

// take reserves an address, the next free one for "".
func (p *ipPool) take(want string) (string, bool) {
	if p.used == nil {
		p.used = map[string]struct{}{}
	}
	if want != "" {
		_, taken := p.used[want]
		p.used[want] = struct{}{}
		return want, !taken
	}
	addresses := serviceRange()
	for range 1 << (32 - addresses.Bits()) {
		p.last = p.last.Next()
		if !addresses.Contains(p.last.Next()) { // At the start, or at the broadcast address.
			p.last = addresses.Addr().Next().Next()
		}
		ip := p.last.String()
		if _, taken := p.used[ip]; !taken {
			p.used[ip] = struct{}{}
			return ip, true
		}
	}
	return "", false
}

func (p *ipPool) release(svc *corev1.Service) { delete(p.used, svc.Spec.ClusterIP) }

// assignClusterIP gives a service that needs one its address.
func (s *Store) assignClusterIP(svc *corev1.Service) error {
	spec := &svc.Spec
	if spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	if spec.ClusterIP == "" && len(spec.ClusterIPs) > 0 {
		spec.ClusterIP = spec.ClusterIPs[0]
	}
	if spec.ClusterIP != corev1.ClusterIPNone {
		want := spec.ClusterIP
		if wrong := checkClusterIP(want); want != "" && wrong != "" {
			return invalidClusterIP(svc, want, wrong)
		}
		s.mu.Lock()
		ip, ok := s.clusterIPs.take(want)
		s.mu.Unlock()
		if !ok {
			return invalidClusterIP(svc, want, "failed to allocate IP "+want+": provided IP is already allocated")
		}
		spec.ClusterIP = ip
	}
	spec.ClusterIPs = []string{spec.ClusterIP}
	return nil
}

// checkClusterIP says what is wrong with an address asked for.
func checkClusterIP(want string) string {
	ip, err := netip.ParseAddr(want)
	if err != nil || ip.String() != want {
		return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
	}
	if !serviceRange().Contains(ip) {
		return "failed to allocate IP " + want + ": the provided network does not match the current range"
	}
	return ""
}

// keepClusterIP carries a service's address over to its update, which may leave
// it out but not change it.
func (s *Store) keepClusterIP(svc, old *corev1.Service) error {
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	if old.Spec.Type == corev1.ServiceTypeExternalName {
		if svc.Spec.ClusterIP != "" {
			return nil
		}
		return s.assignClusterIP(svc)
	}
	if svc.Spec.ClusterIP == "" {
		svc.Spec.ClusterIP = old.Spec.ClusterIP
	}
	if len(svc.Spec.ClusterIPs) == 0 {
		svc.Spec.ClusterIPs = old.Spec.ClusterIPs
	}
	if svc.Spec.ClusterIP != old.Spec.ClusterIP {
		return invalidClusterIP(svc, []string{svc.Spec.ClusterIP}, "may not change once set")
	}
	return nil
}

func invalidClusterIP(svc *corev1.Service, value any, detail string) error {
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), svc.Name, field.ErrorList{
		field.Invalid(field.NewPath("spec", "clusterIPs").Index(0), value, detail),
	})
}
