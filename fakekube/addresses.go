package fakekube

import (
	"encoding/binary"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Service addresses come from 10.96.0.0/12, Kubernetes' usual range, whose
// first address is the API server's.
const (
	addressBase  = 10<<24 | 96<<16
	addressBits  = 12
	addressCount = 1 << (32 - addressBits)
	addressFirst = 2
)

// addressPool holds the service addresses in use, guarded by Store.mu.
type addressPool struct {
	used map[string]struct{}
	next uint32
}

// take reserves an address, the next free one for "".
func (p *addressPool) take(want string) (string, bool) {
	if p.used == nil {
		p.used = map[string]struct{}{}
		p.next = addressFirst
	}
	if want != "" {
		_, taken := p.used[want]
		p.used[want] = struct{}{}
		return want, !taken
	}
	for range addressCount {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], addressBase+p.next)
		if p.next++; p.next >= addressCount-1 {
			p.next = addressFirst
		}
		ip := netip.AddrFrom4(b).String()
		if _, taken := p.used[ip]; !taken {
			p.used[ip] = struct{}{}
			return ip, true
		}
	}
	return "", false
}

// release frees the address of a service that is gone.
func (p *addressPool) release(rec *record) {
	if svc, ok := rec.object().(*corev1.Service); ok {
		delete(p.used, svc.Spec.ClusterIP)
	}
}

// assignAddress gives a service that needs one its address.
func (s *Store) assignAddress(svc *corev1.Service) error {
	spec := &svc.Spec
	if spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	if spec.ClusterIP == "" && len(spec.ClusterIPs) > 0 {
		spec.ClusterIP = spec.ClusterIPs[0]
	}
	if spec.ClusterIP != corev1.ClusterIPNone {
		path := field.NewPath("spec", "clusterIPs").Index(0)
		want := spec.ClusterIP
		if err := checkAddress(want); want != "" && err != "" {
			return invalidService(svc, field.Invalid(path, want, err))
		}
		s.mu.Lock()
		ip, ok := s.addresses.take(want)
		s.mu.Unlock()
		if !ok {
			return invalidService(svc, field.Invalid(path, want, "failed to allocate IP "+want+": provided IP is already allocated"))
		}
		spec.ClusterIP = ip
	}
	spec.ClusterIPs = []string{spec.ClusterIP}
	return nil
}

// checkAddress says what is wrong with an address asked for.
func checkAddress(want string) string {
	ip, err := netip.ParseAddr(want)
	if err != nil || ip.String() != want {
		return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
	}
	if !netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 96, 0, 0}), addressBits).Contains(ip) {
		return "failed to allocate IP " + want + ": the provided network does not match the current range"
	}
	return ""
}

// releaseAddress frees the address of a service that was not stored.
func (s *Store) releaseAddress(svc *corev1.Service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.addresses.used, svc.Spec.ClusterIP)
}

func invalidService(svc *corev1.Service, err *field.Error) error {
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), svc.Name, field.ErrorList{err})
}
