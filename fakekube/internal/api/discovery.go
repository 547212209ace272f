package api

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
)

// discover serves /api, /api/v1, /apis, /apis/GROUP and /apis/GROUP/VERSION.
func (h *handler) discover(w http.ResponseWriter, r *http.Request, parts []string) error {
	if r.Method != http.MethodGet {
		return kinds.MethodNotAllowed()
	}
	accept, err := negotiate(r.Header.Get("Accept"), nil)
	if err != nil {
		accept = representation{media: mediaJSON} // Only protobuf is asked for; the answer's type says that it is JSON.
	}
	core := parts[0] == "api"
	if len(parts) == 1 && accept.as == asGroups {
		w.Header().Set("Content-Type", mediaJSON+";g=apidiscovery.k8s.io;v=v2;as="+asGroups)
		return writeJSON(w, http.StatusOK, h.store.Kinds().AggregatedDiscovery(core))
	}
	groups, resources := h.store.Kinds().LegacyDiscovery(core)
	switch {
	case len(parts) == 1 && core:
		return writeJSON(w, http.StatusOK, &metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}},
		})
	case len(parts) == 1:
		return writeJSON(w, http.StatusOK, groups)
	case len(parts) == 2 && !core:
		for _, g := range groups.Groups {
			if g.Name == parts[1] {
				g.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
				return writeJSON(w, http.StatusOK, &g)
			}
		}
		return kinds.NotServed()
	}
	gv, err := schema.ParseGroupVersion(strings.Join(parts[1:], "/"))
	if err != nil || resources[gv] == nil {
		return kinds.NotServed()
	}
	return writeJSON(w, http.StatusOK, resources[gv])
}
