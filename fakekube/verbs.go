package fakekube

import (
	"encoding/json"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

func (c *call) key() key { return key{c.namespace, c.name} }

func (c *call) target() target { return target{res: c.res, key: c.key(), subresource: c.sub} }

// writeOptions reads the query of a write. The default field manager is the
// client's name, as in Kubernetes.
func (c *call) writeOptions() (writeOptions, error) {
	dryRun, err := dryRunOf(c.query["dryRun"])
	opts := writeOptions{dryRun: dryRun, manager: c.query.Get("fieldManager")}
	if opts.manager == "" && c.r.Method != http.MethodPatch {
		opts.manager, _, _ = strings.Cut(c.r.UserAgent(), "/")
	}
	return opts, err
}

func dryRunOf(values []string) (bool, error) {
	for _, v := range values {
		if v != metav1.DryRunAll {
			return false, apierrors.NewBadRequest("dryRun: unsupported value " + v + `: supported values: "All"`)
		}
	}
	return len(values) > 0, nil
}

// body decodes the request's object and passes warnings on to the answer.
func (c *call) body() (runtime.Object, error) {
	data, err := readBody(c.w, c.r)
	if err != nil {
		return nil, err
	}
	obj, warnings, err := c.store.decodeObject(c.res.gvk, c.res.typed, c.r.Header.Get("Content-Type"), c.query.Get("fieldValidation"), data)
	for _, text := range warnings {
		c.w.Header().Add("Warning", `299 - "`+strings.ReplaceAll(text, `"`, `\"`)+`"`)
	}
	return obj, err
}

func (c *call) create() error {
	opts, err := c.writeOptions()
	if err != nil {
		return err
	}
	obj, err := c.body()
	if err != nil {
		return err
	}
	rec, err := c.store.create(c.res, c.namespace, obj, opts)
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusCreated, rec)
}

func (c *call) update() error {
	opts, err := c.writeOptions()
	if err != nil {
		return err
	}
	obj, err := c.body()
	if err != nil {
		return err
	}
	rec, created, err := c.store.update(c.target(), obj, opts)
	if err != nil {
		return err
	}
	return c.writeRecord(createdCode(created), rec)
}

func createdCode(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

func (c *call) patch() error {
	opts, err := c.writeOptions()
	if err != nil {
		return err
	}
	data, err := readBody(c.w, c.r)
	if err != nil {
		return err
	}
	p := patchRequest{kind: types.PatchType(mediaOf(c.r.Header.Get("Content-Type"))), data: data, force: isTrue(c.query.Get("force"))}
	rec, created, err := c.store.patch(c.target(), p, opts)
	if err != nil {
		return err
	}
	return c.writeRecord(createdCode(created), rec)
}

// deleteOptions reads the body of a delete, or the query when there is none.
func (c *call) deleteOptions() (metav1.DeleteOptions, error) {
	var opts metav1.DeleteOptions
	data, err := readBody(c.w, c.r)
	if err != nil {
		return opts, err
	}
	if len(data) == 0 {
		err = metav1.ParameterCodec.DecodeParameters(c.query, metav1.SchemeGroupVersion, &opts)
	} else {
		err = c.store.decodeDelete(data, mediaOf(c.r.Header.Get("Content-Type")), &opts)
	}
	if err != nil {
		return opts, apierrors.NewBadRequest(err.Error())
	}
	if q := c.query["dryRun"]; len(q) > 0 {
		opts.DryRun = q
	}
	_, err = dryRunOf(opts.DryRun)
	return opts, err
}

func (s *Store) decodeDelete(data []byte, media string, into *metav1.DeleteOptions) error {
	if media == mediaJSON {
		return json.Unmarshal(data, into)
	}
	info, ok := runtime.SerializerInfoForMediaType(s.codecs.SupportedMediaTypes(), media)
	if !ok {
		return errUnknownPath()
	}
	gvk := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
	_, _, err := info.Serializer.Decode(data, &gvk, into)
	return err
}

func (c *call) delete() error {
	opts, err := c.deleteOptions()
	if err != nil {
		return err
	}
	rec, gone, err := c.store.remove(c.res, c.key(), opts)
	if err != nil {
		return err
	}
	if !gone || c.res.returnDeleted {
		return c.writeRecord(http.StatusOK, rec)
	}
	return writeJSON(c.w, http.StatusOK, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{
			Name: c.name, Group: c.res.gvr.Group, Kind: c.res.gvr.Resource, UID: rec.metadata().GetUID(),
		},
	})
}

func (c *call) deleteCollection() error {
	list, err := listOptions(c.query)
	if err != nil {
		return err
	}
	opts, err := c.deleteOptions()
	if err != nil {
		return err
	}
	sel, err := newSelection(c.res, c.namespace, list)
	if err != nil {
		return err
	}
	records, version, err := c.store.removeAll(c.res, sel, opts)
	if err != nil {
		return err
	}
	return c.writeList(records, version)
}

func (c *call) list() error {
	opts, err := listOptions(c.query)
	if err != nil {
		return err
	}
	sel, err := newSelection(c.res, c.namespace, opts)
	if err != nil {
		return err
	}
	records, version := c.store.list(c.res, sel)
	if err := checkListVersion(c.res, opts, version); err != nil {
		return err
	}
	return c.writeList(records, version)
}
