package fakekube

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const writeBuffer = 64 << 10

// writeRecord answers with one object, in the representation agreed on.
func (c *call) writeRecord(code int, rec *record) error {
	if c.accept.as == asTable {
		t, err := c.table([]*record{rec}, rec.rv, true)
		if err != nil {
			return err
		}
		return writeJSON(c.w, code, t)
	}
	b, err := rec.encode(c.res, c.accept.form())
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return c.writeBytes(code, b.data)
}

// writeBytes answers with an encoding; YAML is made from JSON.
func (c *call) writeBytes(code int, data []byte) error {
	if c.accept.media == mediaYAML {
		var err error
		if data, err = yaml.JSONToYAML(data); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	c.w.Header().Set("Content-Type", c.accept.media)
	c.w.WriteHeader(code)
	_, err := c.w.Write(data)
	return ignoreGone(err)
}

// writeList answers with a list of objects at a version.
func (c *call) writeList(records []*record, version uint64) error {
	if c.accept.as == asTable {
		t, err := c.table(records, version, true)
		if err != nil {
			return err
		}
		return writeJSON(c.w, http.StatusOK, t)
	}
	items := make([]body, 0, len(records))
	for _, rec := range records {
		b, err := rec.encodeOnce(c.res, c.accept.form())
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		items = append(items, b)
	}
	rv := strconv.FormatUint(version, 10)
	switch {
	case c.accept.media == mediaProto && c.accept.as == asPartial:
		return c.writeBytes(http.StatusOK, appendProtoList(partialListMeta(), rv, items))
	case c.accept.media == mediaProto:
		return c.writeBytes(http.StatusOK, appendProtoList(c.res.listMeta, rv, items))
	case c.accept.media == mediaYAML:
		var buf bytes.Buffer
		w := bufio.NewWriter(&buf)
		c.writeJSONList(w, rv, items)
		return c.writeBytes(http.StatusOK, buf.Bytes())
	}
	c.w.Header().Set("Content-Type", mediaJSON)
	c.writeJSONList(bufio.NewWriterSize(c.w, writeBuffer), rv, items)
	return nil
}

// writeJSONList writes a list; errors of w are the client's.
func (c *call) writeJSONList(w *bufio.Writer, version string, items []body) {
	head := c.res.jsonList
	if c.accept.as == asPartial {
		head = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"`
	}
	_, _ = w.WriteString(head)
	_, _ = w.WriteString(version)
	_, _ = w.WriteString(`"},"items":[`)
	for i, it := range items {
		if i > 0 {
			_ = w.WriteByte(',')
		}
		_, _ = w.Write(it.item)
	}
	_, _ = w.WriteString("]}\n")
	_ = w.Flush()
}

func partialListMeta() []byte {
	return protoTypeMeta(metav1.SchemeGroupVersion.String(), "PartialObjectMetadataList")
}

// bookmark encodes the object of a bookmark: a kind and a version.
func (c *call) bookmark(d delivery) ([]byte, error) {
	meta := metav1.ObjectMeta{ResourceVersion: strconv.FormatUint(d.version, 10)}
	if d.initial {
		meta.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	p := &metav1.PartialObjectMetadata{ObjectMeta: meta}
	if c.accept.media == mediaProto {
		raw, err := p.Marshal()
		typeMeta := c.res.typeMeta
		if c.accept.as == asPartial {
			typeMeta = protoTypeMeta(metav1.SchemeGroupVersion.String(), asPartial)
		}
		return protoBody(typeMeta, raw).data, err
	}
	p.APIVersion, p.Kind = c.res.gvk.ToAPIVersionAndKind()
	switch c.accept.as {
	case asPartial:
		p.APIVersion, p.Kind = metav1.SchemeGroupVersion.String(), asPartial
	case asTable:
		t := newTable(d.version)
		return json.Marshal(t)
	}
	return json.Marshal(p)
}
