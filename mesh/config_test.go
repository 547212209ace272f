package mesh_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/mesh"
)

func TestEachConfigObjectTellsItsGenerations(t *testing.T) {
	t.Parallel()
	m := newMesh(t, nil)
	s := m.Services[0]
	for _, kind := range mesh.ConfigKinds() {
		first, err := m.ConfigObject(kind, s, 0)
		if err != nil {
			t.Fatal(err)
		}
		second, err := m.ConfigObject(kind, s, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(first.States) == 0 || cmp.Equal(first.States, second.States) || cmp.Equal(second.States, first.Gone) {
			t.Errorf("%s: proxies show %v, then %v, and %v without it", kind, first.States, second.States, first.Gone)
		}
		if first.Object.GetName() != second.Object.GetName() || cmp.Equal(first.Object.Object["spec"], second.Object.Object["spec"]) {
			t.Errorf("%s: a generation must change the content of one object", kind)
		}
		for _, o := range []mesh.ConfigObject{first, second} {
			if o.Object.GetLabels()[mesh.ManagedByLabel] != mesh.ManagedByValue || o.Object.GetNamespace() != m.Namespaces[0].Name {
				t.Errorf("%s: %v in namespace %s", kind, o.Object.GetLabels(), o.Object.GetNamespace())
			}
			content, err := json.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			for _, state := range o.States {
				id, marked := strings.CutPrefix(state.Name, event.MarkName(""))
				if state.Audience == nil || marked && !strings.Contains(string(content), "xbmark."+id+".") {
					t.Errorf("%s: state %v of an object that does not carry the mark: %s", kind, state, content)
				}
			}
		}
		again, err := m.ConfigObject(kind, s, 0)
		if err != nil || again.States[0].Audience != first.States[0].Audience {
			t.Errorf("%s: its audience is not one pointer, or %v", kind, err)
		}
	}
}

func TestConfigKindsOfANamespaceAreRefusedWhereTheyCouldNotBeToldApart(t *testing.T) {
	t.Parallel()
	m := newMesh(t, nil)
	other := m.Services[1]
	for kind, refused := range map[mesh.ConfigKind]bool{
		mesh.Sidecar: true, mesh.PeerAuthentication: true, mesh.Telemetry: false, mesh.VirtualService: false, "unknown": true,
	} {
		if _, err := m.ConfigObject(kind, other, 0); (err != nil) != refused {
			t.Errorf("%s for %s: %v", kind, other.Key(), err)
		}
	}
}

func TestScopeSaysWhoHasToKnowAService(t *testing.T) {
	t.Parallel()
	for scope, test := range map[string]struct {
		namespaces []string
		exportTo   string
		sidecars   int
	}{
		mesh.ScopeMesh:       {nil, "", 0},
		mesh.ScopeSubscribed: {nil, "", 0},
		mesh.ScopeNamespace:  {[]string{"xb-3"}, "", 5},
		mesh.ScopeExportTo:   {[]string{"xb-3"}, ".", 0},
	} {
		m := newMesh(t, func(cfg *mesh.Config) { cfg.Scope = scope })
		s := m.Services[3]
		if i := slices.IndexFunc(s.States(), func(e event.Expected) bool {
			return e.Type != xds.EDS || e.Audience == nil || !slices.Equal(e.Audience.Namespaces, test.namespaces)
		}); i >= 0 {
			t.Errorf("scope %s: state %+v", scope, s.States()[i])
		}
		if got := s.Object().Annotations["networking.istio.io/exportTo"]; got != test.exportTo {
			t.Errorf("scope %s: exported to %q, want %q", scope, got, test.exportTo)
		}
		if len(m.Configs) != test.sidecars {
			t.Errorf("scope %s: %d Sidecar objects, want %d", scope, len(m.Configs), test.sidecars)
		}
	}
}
