package fakekube

import (
	"bufio"
	"encoding/json"
	"net/http"

	"k8s.io/apimachinery/pkg/watch"
)

// stream writes the events of one watch.
type stream struct {
	call    *call
	out     *bufio.Writer
	control *http.ResponseController
	columns bool // a Table's columns have been sent
}

// watch serves a watch until it ends. Errors after the selectors are events,
// so that a client finds them where it looks for them.
func (c *call) watch() error {
	opts, err := listOptions(c.query)
	if err != nil {
		return err
	}
	sel, err := newSelection(c.res, c.namespace, opts)
	if err != nil {
		return err
	}
	from, err := c.store.watchFrom(opts)
	if _, parse := parseVersion(opts.ResourceVersion); parse != nil {
		return parse
	}
	var w *watcher
	if err == nil {
		w, err = c.store.watch(c.res, sel, from)
	}
	contentType := mediaJSON
	if c.accept.media == mediaProto {
		contentType = mediaProto + ";stream=watch"
	}
	c.w.Header().Set("Content-Type", contentType)
	c.w.WriteHeader(http.StatusOK)
	s := &stream{call: c, out: bufio.NewWriterSize(c.w, writeBuffer/4), control: http.NewResponseController(c.w)}
	if err != nil {
		return s.fail(err)
	}
	if err := s.control.Flush(); err != nil {
		w.close()
		return ignoreGone(err)
	}
	if err := w.run(c.r.Context().Done(), s.send); err != nil {
		return s.fail(err)
	}
	return nil
}

// send writes a batch of events and hands it to the network.
func (s *stream) send(batch []delivery) error {
	for _, d := range batch {
		object, err := s.encode(d)
		if err != nil {
			return err
		}
		if err := s.event(d.kind, object); err != nil {
			return err
		}
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *stream) encode(d delivery) ([]byte, error) {
	c := s.call
	if d.kind == watch.Bookmark {
		return c.bookmark(d)
	}
	if c.accept.as == asTable {
		t, err := c.table([]*record{d.rec}, d.rec.rv, !s.columns)
		if err != nil {
			return nil, err
		}
		s.columns = true
		return json.Marshal(t)
	}
	encode := d.rec.encode
	if d.initial {
		encode = d.rec.encodeOnce // as in a list
	}
	b, err := encode(c.res, c.accept.form())
	return b.data, err
}

func (s *stream) event(kind watch.EventType, object []byte) error {
	if s.call.accept.media == mediaProto {
		if _, err := s.out.Write(protoEventHead(string(kind), object)); err != nil {
			return err
		}
		_, err := s.out.Write(object)
		return err
	}
	_, _ = s.out.WriteString(`{"type":"`) // A bufio.Writer keeps its first error.
	_, _ = s.out.WriteString(string(kind))
	_, _ = s.out.WriteString(`","object":`)
	_, _ = s.out.Write(object)
	_, err := s.out.WriteString("}\n")
	return err
}

// fail tells the client why the watch ends, if it can still be told.
func (s *stream) fail(cause error) error {
	status := statusOf(cause)
	var object []byte
	var err error
	if s.call.accept.media == mediaProto {
		var raw []byte
		raw, err = status.Marshal()
		object = protoBody(protoTypeMeta("v1", "Status"), raw).data
	} else {
		object, err = json.Marshal(status)
	}
	if err == nil {
		err = s.event(watch.Error, object)
	}
	if err == nil {
		err = s.out.Flush()
	}
	return ignoreGone(err)
}
