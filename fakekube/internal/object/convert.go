package object

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
)

// convert shows an object in another served version of its kind. The versions
// of a custom resource differ in name only (conversion strategy None); of the
// built-in kinds only Events are served in two versions, from one table.
func convert(obj runtime.Object, to *kinds.Resource) runtime.Object {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		content := maps.Clone(o.Object)
		content["apiVersion"] = to.GVK.GroupVersion().String()
		return &unstructured.Unstructured{Object: content}
	case *corev1.Event:
		return eventFromCore(o)
	case *eventsv1.Event:
		return eventToCore(o)
	}
	return obj
}

func eventFromCore(e *corev1.Event) *eventsv1.Event {
	out := &eventsv1.Event{
		ObjectMeta: e.ObjectMeta, EventTime: e.EventTime, Action: e.Action, Reason: e.Reason, Type: e.Type,
		Regarding: e.InvolvedObject, Related: e.Related, Note: e.Message,
		ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
		DeprecatedSource: e.Source, DeprecatedCount: e.Count,
		DeprecatedFirstTimestamp: e.FirstTimestamp, DeprecatedLastTimestamp: e.LastTimestamp,
	}
	if e.Series != nil {
		out.Series = &eventsv1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return out
}

func eventToCore(e *eventsv1.Event) *corev1.Event {
	out := &corev1.Event{
		ObjectMeta: e.ObjectMeta, EventTime: e.EventTime, Action: e.Action, Reason: e.Reason, Type: e.Type,
		InvolvedObject: e.Regarding, Related: e.Related, Message: e.Note,
		ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
		Source: e.DeprecatedSource, Count: e.DeprecatedCount,
		FirstTimestamp: e.DeprecatedFirstTimestamp, LastTimestamp: e.DeprecatedLastTimestamp,
	}
	if e.Series != nil {
		out.Series = &corev1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return out
}
