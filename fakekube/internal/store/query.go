package store

import (
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// query is a checked list or watch request.
type query struct {
	selection
	version uint64 // the resourceVersion; 0 for any
	opts    internalversion.ListOptions
}

func newQuery(res *kinds.Resource, namespace string, opts metav1.ListOptions) (query, error) {
	var q query
	if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&opts, &q.opts, nil); err != nil {
		return q, apierrors.NewBadRequest(err.Error())
	}
	if errs := validation.ValidateListOptions(&q.opts, true); len(errs) > 0 {
		return q, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	if opts.Continue != "" {
		return q, apierrors.NewBadRequest("continue key is not valid: this server answers every list in one page")
	}
	if text := opts.ResourceVersion; text != "" {
		var err error
		if q.version, err = strconv.ParseUint(text, 10, 64); err != nil {
			return q, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: resourceVersion: Invalid value: %q: %v", text, err))
		}
	}
	var err error
	q.selection, err = newSelection(res, namespace, &q.opts)
	return q, err
}

// List returns the objects that match, in order of namespace and name, and the
// version at which they are all. A version that is still to come is refused, and
// with Exact one that is past and may have looked otherwise.
func (s *Store) List(res *kinds.Resource, namespace string, opts metav1.ListOptions) ([]*object.Revision, uint64, error) {
	q, err := newQuery(res, namespace, opts)
	if err != nil {
		return nil, 0, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, current := s.tableLocked(res), s.version.Load()
	if q.version > current {
		return nil, 0, errTooLarge(q.version, current)
	}
	if q.opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact && t.history.changedSince(q.version) {
		return nil, 0, errExpired(q.version, current)
	}
	return t.selectLocked(q.selection), current, nil
}

func errTooLarge(asked, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, current), 1)
	err.ErrStatus.Code = http.StatusGatewayTimeout
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return err
}
