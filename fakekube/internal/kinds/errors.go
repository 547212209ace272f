package kinds

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NotServed is the 404 for a path that is not served.
func NotServed() error { return genericError(http.StatusNotFound) }

// MethodNotAllowed is the 405 for a verb that a path does not have.
func MethodNotAllowed() error { return genericError(http.StatusMethodNotAllowed) }

func genericError(code int) error {
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", "", 0, false)
}

// StatusOf is the Status that stands for an error.
func StatusOf(err error) *metav1.Status {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		api = apierrors.NewInternalError(err)
	}
	status := api.Status()
	status.APIVersion, status.Kind = "v1", "Status"
	return &status
}
