package mesh

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SpareNamespace names a namespace that the mesh does not have, from 1.
func (m *Mesh) SpareNamespace(i int) string {
	prefix := m.Namespaces[0].Name
	return prefix[:strings.LastIndexByte(prefix, '-')] + "-new-" + strconv.Itoa(i)
}

// SpareService makes a service that does not exist yet, and of which the mesh does not
// know until Adopt.
func (m *Mesh) SpareService(namespace, name string) *Service {
	like := m.Services[0]
	s := newService(like.shared, m.next, namespace, name, like.clusterName, like.shared.spec.Ports)
	s.absent = true
	return s
}

// Adopt makes a spare service one of those that churn changes; and its namespace one of
// the mesh's, if the service exists.
func (m *Mesh) Adopt(s *Service) {
	m.Services = append(m.Services, s)
	m.byKey[s.Key()] = s
	known := slices.ContainsFunc(m.Namespaces, func(n *corev1.Namespace) bool { return n.Name == s.namespace })
	if !known && s.Exists() {
		m.Namespaces = append(m.Namespaces, s.NamespaceObject())
	}
	s.lone = !known
}

// NamespaceObject returns the service's namespace.
func (s *Service) NamespaceObject() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace, Labels: maps.Clone(s.shared.labels)}}
}
