package api

import (
	"encoding/json"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
	"github.com/xdsbench/xdsbench/fakekube/internal/store"
)

func (c *request) target() store.Target {
	return store.Target{Resource: c.resource, Key: c.key(), Subresource: c.sub}
}

// writeOptions reads the query of a write. The default field manager is the
// client's name, as in Kubernetes.
func (c *request) writeOptions() (store.WriteOptions, error) {
	dryRun, err := dryRun(c.query["dryRun"])
	opts := store.WriteOptions{DryRun: dryRun, FieldManager: c.query.Get("fieldManager")}
	if opts.FieldManager == "" && c.r.Method != http.MethodPatch {
		opts.FieldManager, _, _ = strings.Cut(c.r.UserAgent(), "/")
	}
	return opts, err
}

func dryRun(values []string) (bool, error) {
	for _, v := range values {
		if v != metav1.DryRunAll {
			return false, apierrors.NewBadRequest("dryRun: unsupported value " + v + `: supported values: "All"`)
		}
	}
	return len(values) > 0, nil
}

// input reads what a create or update is given.
func (c *request) input() (runtime.Object, store.WriteOptions, error) {
	opts, err := c.writeOptions()
	if err != nil {
		return nil, opts, err
	}
	obj, err := c.decodeBody()
	return obj, opts, err
}

func (c *request) create() error {
	obj, opts, err := c.input()
	if err != nil {
		return err
	}
	rev, err := c.store.Create(c.resource, c.namespace, obj, opts)
	if err != nil {
		return err
	}
	return c.writeRevision(http.StatusCreated, rev)
}

func (c *request) update() error {
	obj, opts, err := c.input()
	if err != nil {
		return err
	}
	return c.writeWritten(c.store.Update(c.target(), obj, opts))
}

func (c *request) patch() error {
	opts, err := c.writeOptions()
	if err != nil {
		return err
	}
	data, err := c.readBody()
	if err != nil {
		return err
	}
	return c.writeWritten(c.store.Patch(c.target(), store.Patch{
		Type: types.PatchType(c.contentType()), Data: data, Force: isTrue(c.query.Get("force")),
	}, opts))
}

// writeWritten answers a write that may have created its object.
func (c *request) writeWritten(rev *object.Revision, created bool, err error) error {
	switch {
	case err != nil:
		return err
	case created:
		return c.writeRevision(http.StatusCreated, rev)
	}
	return c.writeRevision(http.StatusOK, rev)
}

// review answers a review, which is not stored.
func (c *request) review() error {
	obj, err := c.decodeBody()
	if err != nil {
		return err
	}
	kinds.AnswerReview(obj)
	data, err := object.Encode(object.ToStorage(obj, c.resource), c.resource.GVK, c.accept.media == mediaProto)
	if err != nil {
		return err
	}
	return c.writeBytes(http.StatusCreated, data)
}

// deleteOptions reads the body of a delete, or the query when there is none.
func (c *request) deleteOptions() (metav1.DeleteOptions, error) {
	var opts metav1.DeleteOptions
	data, err := c.readBody()
	if err != nil {
		return opts, err
	}
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), c.contentType())
	switch {
	case len(data) == 0:
		err = metav1.Convert_url_Values_To_v1_DeleteOptions(&c.query, &opts, nil)
	case c.contentType() == mediaJSON:
		err = json.Unmarshal(data, &opts)
	case ok:
		gvk := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
		_, _, err = info.Serializer.Decode(data, &gvk, &opts)
	default:
		return opts, kinds.NotServed()
	}
	if err != nil {
		return opts, apierrors.NewBadRequest(err.Error())
	}
	if q := c.query["dryRun"]; len(q) > 0 {
		opts.DryRun = q
	}
	_, err = dryRun(opts.DryRun)
	return opts, err
}

func (c *request) delete() error {
	opts, err := c.deleteOptions()
	if err != nil {
		return err
	}
	rev, gone, err := c.store.Delete(c.resource, c.key(), opts)
	if err != nil {
		return err
	}
	if !gone || c.resource.ReturnDeleted {
		return c.writeRevision(http.StatusOK, rev)
	}
	return writeJSON(c.w, http.StatusOK, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{
			Name: c.name, Group: c.resource.GVR.Group, Kind: c.resource.GVR.Resource, UID: rev.Meta().GetUID(),
		},
	})
}

// listOptions reads the query of a list or watch.
func (c *request) listOptions() (metav1.ListOptions, error) {
	var opts metav1.ListOptions
	if err := metav1.Convert_url_Values_To_v1_ListOptions(&c.query, &opts, nil); err != nil {
		return opts, apierrors.NewBadRequest(err.Error())
	}
	return opts, nil
}

func (c *request) deleteCollection() error {
	list, err := c.listOptions()
	if err != nil {
		return err
	}
	opts, err := c.deleteOptions()
	if err != nil {
		return err
	}
	revisions, version, err := c.store.DeleteCollection(c.resource, c.namespace, list, opts)
	if err != nil {
		return err
	}
	return c.writeList(revisions, version)
}

func (c *request) list() error {
	opts, err := c.listOptions()
	if err != nil {
		return err
	}
	revisions, version, err := c.store.List(c.resource, c.namespace, opts)
	if err != nil {
		return err
	}
	return c.writeList(revisions, version)
}
