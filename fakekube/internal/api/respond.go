package api

import (
	"bytes"
	"encoding/json"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// writeRevision answers with one object, in the representation agreed on.
func (c *request) writeRevision(code int, rev *object.Revision) error {
	if c.accept.as == asTable {
		t, err := c.table([]*object.Revision{rev}, rev.Version, true)
		if err != nil {
			return err
		}
		return writeJSON(c.w, code, t)
	}
	e, err := rev.Encode(c.resource, c.accept.format())
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return c.writeBytes(code, e.Data)
}

// writeBytes answers with an encoding; YAML is made from JSON.
func (c *request) writeBytes(code int, data []byte) error {
	if c.accept.media == mediaYAML {
		var err error
		if data, err = yaml.JSONToYAML(data); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	c.w.Header().Set("Content-Type", c.accept.media)
	c.w.WriteHeader(code)
	_, err := c.w.Write(data)
	return ignoreClient(err)
}

// writeList answers with a list of objects at a version.
func (c *request) writeList(revisions []*object.Revision, version uint64) error {
	if c.accept.as == asTable {
		t, err := c.table(revisions, version, true)
		if err != nil {
			return err
		}
		return writeJSON(c.w, http.StatusOK, t)
	}
	items := make([]object.Encoded, 0, len(revisions))
	for _, rev := range revisions {
		e, err := rev.EncodeOnce(c.resource, c.accept.format())
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		items = append(items, e)
	}
	if c.accept.media == mediaYAML {
		var buf bytes.Buffer
		if err := object.WriteList(&buf, c.resource, c.accept.format(), version, items); err != nil {
			return apierrors.NewInternalError(err)
		}
		return c.writeBytes(http.StatusOK, buf.Bytes())
	}
	c.w.Header().Set("Content-Type", c.accept.media)
	return ignoreClient(object.WriteList(c.w, c.resource, c.accept.format(), version, items))
}

func writeJSON(w http.ResponseWriter, code int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", mediaJSON)
	}
	w.WriteHeader(code)
	_, err = w.Write(data)
	return ignoreClient(err)
}

// ignoreClient drops the error of a write to a client: the answer has begun, so
// no other can be given, and a client that has left needs none.
func ignoreClient(error) error { return nil }
