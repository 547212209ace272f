package fakekube

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listOptions reads the query of a list or watch.
func listOptions(query url.Values) (*internalversion.ListOptions, error) {
	opts := &internalversion.ListOptions{}
	if err := internalscheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, opts); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return opts, checkListOptions(opts)
}

// internalOptions takes the options of an in-process list or watch.
func internalOptions(in metav1.ListOptions) (*internalversion.ListOptions, error) {
	opts := &internalversion.ListOptions{}
	if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&in, opts, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return opts, checkListOptions(opts)
}

func checkListOptions(opts *internalversion.ListOptions) error {
	if errs := validation.ValidateListOptions(opts, true); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	if opts.Continue != "" {
		return apierrors.NewBadRequest("continue key is not valid: this server answers every list in one page")
	}
	return nil
}

// version reads a resourceVersion; none is 0.
func parseVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resource version: resourceVersion: Invalid value: " +
			strconv.Quote(text) + ": " + err.Error())
	}
	return v, nil
}

// checkListVersion refuses a list at a version that is still to come, or, with
// Exact, one that is past and may have looked otherwise.
func checkListVersion(res *resource, opts *internalversion.ListOptions, current uint64) error {
	v, err := parseVersion(opts.ResourceVersion)
	if err != nil {
		return err
	}
	if v > current {
		return errTooLarge(v, current)
	}
	if opts.ResourceVersionMatch != metav1.ResourceVersionMatchExact || v == current {
		return nil
	}
	h := &res.table.history
	h.mu.RLock()
	defer h.mu.RUnlock()
	if seq, err := h.seekLocked(v); err != nil || seq != h.endLocked() {
		return errExpired(v, current)
	}
	return nil
}

func errTooLarge(asked, current uint64) error {
	err := apierrors.NewTimeoutError("Too large resource version: "+strconv.FormatUint(asked, 10)+
		", current: "+strconv.FormatUint(current, 10), 1)
	err.ErrStatus.Code = http.StatusGatewayTimeout
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return err
}

// watchFrom says where a watch with these options starts.
func (s *Store) watchFrom(opts *internalversion.ListOptions) (watchOptions, error) {
	out := watchOptions{bookmarks: opts.AllowWatchBookmarks}
	if opts.TimeoutSeconds != nil {
		out.timeout = time.Duration(*opts.TimeoutSeconds) * time.Second
	}
	v, err := parseVersion(opts.ResourceVersion)
	if err != nil {
		return out, err
	}
	switch {
	case opts.SendInitialEvents != nil && *opts.SendInitialEvents:
		out.initial, out.endMark = true, opts.AllowWatchBookmarks
		if current := s.version.Load(); v > current {
			return out, errTooLarge(v, current)
		}
	case v == 0 && opts.SendInitialEvents != nil:
		out.from = s.version.Load()
	case v == 0:
		out.initial = true
	default:
		out.from = v
	}
	return out, nil
}
