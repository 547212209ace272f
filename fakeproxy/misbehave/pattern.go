package misbehave

import (
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/event/xds"
)

// SelectsType reports whether responses of a type may be rejected.
func (n *Nack) SelectsType(t xds.Type) bool {
	return len(n.Types) == 0 || slices.Contains(n.Types, t.String())
}

// SelectsName reports whether responses that add or remove a resource of a name may
// be rejected.
func (n *Nack) SelectsName(name string) bool {
	return slices.ContainsFunc(n.Names, func(pattern string) bool { return matches(pattern, name) })
}

func typeNames() []string {
	var names []string
	for t := range xds.Type(xds.NumKnown) {
		names = append(names, t.String())
	}
	return names
}

// matches reports whether a pattern matches a name: as a whole where it has a
// "*", else a part of it.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return strings.Contains(name, parts[0])
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}
