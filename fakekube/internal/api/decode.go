package api

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
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// maxBody is the largest request body accepted, in bytes, as in Kubernetes.
const maxBody = 3 << 20

// readBody reads the request's body.
func (c *request) readBody() ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest("read the body: " + err.Error())
	}
	return data, nil
}

// contentType is the media type of the request's body; none is JSON.
func (c *request) contentType() string {
	header := c.r.Header.Get("Content-Type")
	if header == "" {
		return mediaJSON
	}
	if media, _, err := mime.ParseMediaType(header); err == nil {
		return media
	}
	return header
}

// decodeBody decodes the request's object, whose kind is taken from the URL when
// the body leaves it out, and passes warnings on to the answer.
func (c *request) decodeBody() (runtime.Object, error) {
	data, err := c.readBody()
	if err != nil {
		return nil, err
	}
	media, gvk := c.contentType(), c.resource.GVK
	if types := bodyMediaTypes(c.resource); !slices.Contains(types, media) {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", schema.GroupResource{}, "",
			"the body of the request was in an unknown format - accepted media types include: "+strings.Join(types, ", "), 0, false)
	}
	validation := c.query.Get("fieldValidation")
	decoder := c.decoder(media, validation)
	if !c.resource.Typed && media == mediaYAML {
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, apierrors.NewBadRequest("error decoding YAML: " + err.Error())
		}
	}
	obj, got, err := decoder.Decode(data, &gvk, nil)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && validation == metav1.FieldValidationWarn && obj != nil {
		for _, e := range strict.Errors() {
			c.w.Header().Add("Warning", `299 - "`+strings.ReplaceAll(e.Error(), `"`, `\"`)+`"`)
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
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", got.Kind, got.Version, gvk.Kind, err))
	}
	return obj, nil
}

// decoder is the decoder of a media type; it minds unknown and repeated fields
// if the request wants to know of them.
func (c *request) decoder(media, validation string) runtime.Decoder {
	if !c.resource.Typed {
		return unstructured.UnstructuredJSONScheme
	}
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	if info.StrictSerializer != nil && (validation == metav1.FieldValidationStrict || validation == metav1.FieldValidationWarn) {
		return info.StrictSerializer
	}
	return info.Serializer
}
