package fakekube

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// maxBody is the largest request body accepted, in bytes, as in Kubernetes.
const maxBody = 3 << 20

// readBody reads a request's body.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest("read the body: " + err.Error())
	}
	return data, nil
}

// mediaOf reads a Content-Type; none is JSON.
func mediaOf(header string) string {
	if header == "" {
		return mediaJSON
	}
	media, _, err := mime.ParseMediaType(header)
	if err != nil {
		return header
	}
	return media
}

// decodeObject decodes a body of a kind; the kind is taken from the URL when
// the body leaves it out. Validation is the fieldValidation of the request;
// warnings are for the answer.
func (s *Store) decodeObject(gvk schema.GroupVersionKind, typed bool, contentType, validation string, data []byte) (obj runtime.Object, warnings []string, err error) {
	media := mediaOf(contentType)
	if !slices.Contains(acceptedBodies(typed), media) {
		return nil, nil, statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"the body of the request was in an unknown format - accepted media types include: "+
				strings.Join(acceptedBodies(typed), ", "))
	}
	if !typed {
		obj, err := decodeUntyped(gvk, media, data)
		return obj, nil, err
	}
	obj, got, err := s.decoder(media, validation).Decode(data, &gvk, nil)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && validation == metav1.FieldValidationWarn && obj != nil {
		for _, e := range strict.Errors() {
			warnings = append(warnings, e.Error())
		}
		err = nil
	}
	if got == nil {
		got = &gvk
	}
	if err == nil && *got != gvk {
		err = errors.New("the kind is not the URL's")
	}
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", got.Kind, got.Version, gvk.Kind, err))
	}
	return obj, warnings, nil
}

// decoder is the decoder of a media type; it minds unknown and repeated fields
// if the request wants to know of them.
func (s *Store) decoder(media, validation string) runtime.Decoder {
	info, _ := runtime.SerializerInfoForMediaType(s.codecs.SupportedMediaTypes(), media)
	if info.StrictSerializer != nil && (validation == metav1.FieldValidationStrict || validation == metav1.FieldValidationWarn) {
		return info.StrictSerializer
	}
	return info.Serializer
}

func acceptedBodies(typed bool) []string {
	if typed {
		return []string{mediaJSON, mediaYAML, mediaProto}
	}
	return []string{mediaJSON, mediaYAML}
}

func decodeUntyped(gvk schema.GroupVersionKind, media string, data []byte) (runtime.Object, error) {
	if media == mediaYAML {
		var err error
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, apierrors.NewBadRequest("error decoding YAML: " + err.Error())
		}
	}
	obj, got, err := unstructured.UnstructuredJSONScheme.Decode(data, &gvk, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest("the object provided is unrecognized (must be of type " + gvk.Kind + "): " + err.Error())
	}
	if *got != gvk {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", got.Kind, got.Version, gvk.Kind))
	}
	return obj, nil
}
