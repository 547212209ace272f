package fakekube

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// convert shows an object in another served version of its kind. The versions
// of a custom resource differ in name only (conversion strategy None); of the
// built-in kinds only Events are served in two versions, from one table.
func convert(obj runtime.Object, to *resource) runtime.Object {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		return withTypeMeta(o, to.gvk.GroupVersion().String())
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

func addEventFields(set fields.Set, obj runtime.Object) {
	switch e := obj.(type) {
	case *corev1.Event:
		addReference(set, "involvedObject.", e.InvolvedObject)
		set["reason"], set["type"] = e.Reason, e.Type
		set["reportingComponent"], set["source"] = e.ReportingController, e.Source.Component
		if set["source"] == "" {
			set["source"] = e.ReportingController
		}
	case *eventsv1.Event:
		addReference(set, "regarding.", e.Regarding)
		set["reason"], set["type"], set["reportingController"] = e.Reason, e.Type, e.ReportingController
	}
}

func addReference(set fields.Set, prefix string, ref corev1.ObjectReference) {
	set[prefix+"kind"], set[prefix+"namespace"], set[prefix+"name"] = ref.Kind, ref.Namespace, ref.Name
	set[prefix+"uid"], set[prefix+"apiVersion"] = string(ref.UID), ref.APIVersion
	set[prefix+"resourceVersion"], set[prefix+"fieldPath"] = ref.ResourceVersion, ref.FieldPath
}
