package fakekube

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// accepted is the representation chosen for an answer.
type accepted struct {
	media string
	as    string // "", asTable, asPartial, or asGroups for discovery
}

// form is the encoding of one object.
func (a accepted) form() form {
	switch {
	case a.as == asPartial && a.media == mediaProto:
		return formMetaProto
	case a.as == asPartial || a.as == asTable:
		return formMetaJSON
	case a.media == mediaProto:
		return formProto
	}
	return formJSON
}

// negotiate chooses the first representation in the Accept header that the
// resource has; res is nil for discovery.
func negotiate(header string, res *resource) (accepted, error) {
	if strings.TrimSpace(header) == "" {
		return accepted{media: mediaJSON}, nil
	}
	type clause struct {
		accepted
		quality float64
	}
	var clauses []clause
	for part := range strings.SplitSeq(header, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		c := clause{accepted: accepted{media: media, as: params["as"]}, quality: 1}
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			c.quality = q
		}
		if media == "*/*" || media == "application/*" {
			c.media = mediaJSON
		}
		if c.as == "PartialObjectMetadataList" {
			c.as = asPartial
		}
		if c.supported(res, params) {
			clauses = append(clauses, c)
		}
	}
	if len(clauses) == 0 {
		return accepted{}, statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: "+strings.Join(representations(res), ", "))
	}
	slices.SortStableFunc(clauses, func(a, b clause) int {
		switch {
		case a.quality > b.quality:
			return -1
		case a.quality < b.quality:
			return 1
		}
		return 0
	})
	return clauses[0].accepted, nil
}

func (a accepted) supported(res *resource, params map[string]string) bool {
	of := params["g"] + "/" + params["v"]
	if res == nil {
		return a.media == mediaJSON && (a.as == "" || a.as == asGroups && of == "apidiscovery.k8s.io/v2")
	}
	switch a.as {
	case "":
		return slices.Contains(acceptedBodies(res.typed), a.media)
	case asTable:
		return a.media == mediaJSON && of == metav1.SchemeGroupVersion.String()
	case asPartial:
		return (a.media == mediaJSON || a.media == mediaProto) && of == metav1.SchemeGroupVersion.String()
	}
	return false
}

func representations(res *resource) []string {
	out := []string{mediaJSON, mediaYAML}
	if res != nil && res.typed {
		out = append(out, mediaProto)
	}
	out = append(out, mediaJSON+";stream=watch")
	if res != nil && res.typed {
		out = append(out, mediaProto+";stream=watch")
	}
	return out
}
