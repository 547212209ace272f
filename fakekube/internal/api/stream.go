package api

import (
	"bufio"
	"encoding/json"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
	"github.com/xdsbench/xdsbench/fakekube/internal/store"
)

// stream writes the events of one watch.
type stream struct {
	request *request
	out     *bufio.Writer
	control *http.ResponseController
	columns bool // a Table's columns have been sent
}

// watch serves a watch until it ends. Once the request is found to be valid,
// errors are events, so that a client finds them where it looks for them.
func (c *request) watch() error {
	opts, err := c.listOptions()
	if err != nil {
		return err
	}
	w, err := c.store.Watch(c.resource, c.namespace, opts)
	if err != nil {
		return err
	}
	contentType := mediaJSON
	if c.accept.media == mediaProto {
		contentType = mediaProto + ";stream=watch"
	}
	c.w.Header().Set("Content-Type", contentType)
	c.w.WriteHeader(http.StatusOK)
	const buffer = 16 << 10
	s := &stream{request: c, out: bufio.NewWriterSize(c.w, buffer), control: http.NewResponseController(c.w)}
	if err := s.control.Flush(); err != nil {
		w.Close()
		return ignoreClient(err)
	}
	if err := w.Run(c.r.Context().Done(), s.send); err != nil {
		return ignoreClient(s.fail(err))
	}
	return nil
}

// send writes a batch of events and hands it to the network.
func (s *stream) send(batch []store.Event) error {
	for _, e := range batch {
		data, err := s.encode(e)
		if err != nil {
			return err
		}
		if err := s.write(e.Type, data); err != nil {
			return err
		}
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *stream) encode(e store.Event) ([]byte, error) {
	c := s.request
	if c.accept.as == asTable {
		var revisions []*object.Revision
		if e.Type != watch.Bookmark {
			revisions = append(revisions, e.Revision)
			e.Version = e.Revision.Version
		}
		t, err := c.table(revisions, e.Version, len(revisions) > 0 && !s.columns)
		if err != nil {
			return nil, err
		}
		s.columns = s.columns || len(revisions) > 0
		return json.Marshal(t)
	}
	if e.Type == watch.Bookmark {
		return object.EncodeBookmark(c.resource, c.accept.format(), e.Version, e.Initial)
	}
	encode := e.Revision.Encode
	if e.Initial {
		encode = e.Revision.EncodeOnce // as in a list
	}
	encoded, err := encode(c.resource, c.accept.format())
	return encoded.Data, err
}

func (s *stream) write(event watch.EventType, data []byte) error {
	if s.request.accept.media == mediaProto {
		if _, err := s.out.Write(object.WatchEventHead(string(event), len(data))); err != nil {
			return err
		}
		_, err := s.out.Write(data)
		return err
	}
	_, _ = s.out.WriteString(`{"type":"` + string(event) + `","object":`) // A bufio.Writer keeps its first error.
	_, _ = s.out.Write(data)
	_, err := s.out.WriteString("}\n")
	return err
}

// fail tells the client why the watch ends, if it can still be told.
func (s *stream) fail(cause error) error {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Status"}
	status := kinds.StatusOf(cause)
	status.SetGroupVersionKind(schema.GroupVersionKind{})
	data, err := object.Encode(status, gvk, s.request.accept.media == mediaProto)
	if err != nil {
		return err
	}
	if err := s.write(watch.Error, data); err != nil {
		return err
	}
	return s.out.Flush()
}
