package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/munnerz/goautoneg"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

const (
	mediaJSON  = "application/json"
	mediaYAML  = "application/yaml"
	mediaProto = "application/vnd.kubernetes.protobuf"
)

// What an answer shows of the objects, beside the objects themselves.
const (
	asTable   = "Table"
	asPartial = "PartialObjectMetadata"
	asGroups  = "APIGroupDiscoveryList"
)

// representation is what was chosen for an answer.
type representation struct {
	media string
	as    string // "", asTable, asPartial, or asGroups for discovery
}

// format is the encoding of one object.
func (r representation) format() object.Format {
	return object.Format{Proto: r.media == mediaProto, Partial: r.as != ""}
}

// negotiate chooses the first representation in the Accept header that the
// resource has; res is nil for discovery.
func negotiate(header string, res *kinds.Resource) (representation, error) {
	if strings.TrimSpace(header) == "" {
		return representation{media: mediaJSON}, nil
	}
	for _, clause := range goautoneg.ParseAccept(header) {
		r := representation{media: clause.Type + "/" + clause.SubType, as: clause.Params["as"]}
		if r.media == "*/*" || r.media == "application/*" {
			r.media = mediaJSON
		}
		if r.as == "PartialObjectMetadataList" {
			r.as = asPartial
		}
		if r.supported(res, clause.Params["g"]+"/"+clause.Params["v"]) {
			return r, nil
		}
	}
	return representation{}, apierrors.NewGenericServerResponse(http.StatusNotAcceptable, "", schema.GroupResource{}, "",
		"only the following media types are accepted: "+strings.Join(bodyMediaTypes(res), ", "), 0, false)
}

// supported says whether the resource has the representation, whose kind is of
// that group and version.
func (r representation) supported(res *kinds.Resource, groupVersion string) bool {
	if res == nil {
		return r.media == mediaJSON && (r.as == "" || r.as == asGroups && groupVersion == "apidiscovery.k8s.io/v2")
	}
	switch r.as {
	case "":
		return slices.Contains(bodyMediaTypes(res), r.media)
	case asTable:
		return r.media == mediaJSON && groupVersion == metav1.SchemeGroupVersion.String()
	case asPartial:
		return (r.media == mediaJSON || r.media == mediaProto) && groupVersion == metav1.SchemeGroupVersion.String()
	}
	return false
}

// bodyMediaTypes are the media types of a resource's objects; res is nil for
// discovery.
func bodyMediaTypes(res *kinds.Resource) []string {
	if res != nil && res.Typed {
		return []string{mediaJSON, mediaYAML, mediaProto}
	}
	return []string{mediaJSON, mediaYAML}
}
