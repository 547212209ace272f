package fakekube

import (
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// adminName is the one user of a server without authentication.
const adminName = "admin"

// reviewKinds are the kinds that are answered and not stored.
func reviewKinds() []schema.GroupVersionKind {
	authz, authn := authorizationv1.SchemeGroupVersion, authenticationv1.SchemeGroupVersion
	return []schema.GroupVersionKind{
		authn.WithKind("SelfSubjectReview"), authn.WithKind("TokenReview"),
		authz.WithKind("LocalSubjectAccessReview"), authz.WithKind("SelfSubjectAccessReview"),
		authz.WithKind("SelfSubjectRulesReview"), authz.WithKind("SubjectAccessReview"),
	}
}

// reviewKind finds the kind of a review's path.
func reviewKind(gv schema.GroupVersion, plural string) (schema.GroupVersionKind, bool) {
	for _, kind := range reviewKinds() {
		if kind.GroupVersion() == gv && pluralOf(kind) == plural {
			return kind, true
		}
	}
	return schema.GroupVersionKind{}, false
}

// reviewed answers a review: everybody is the admin, who may do everything.
func reviewed(obj runtime.Object) {
	user := authenticationv1.UserInfo{Username: adminName, Groups: []string{"system:masters", "system:authenticated"}}
	allowed := authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	switch o := obj.(type) {
	case *authenticationv1.SelfSubjectReview:
		o.Status.UserInfo = user
	case *authenticationv1.TokenReview:
		o.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: user, Audiences: o.Spec.Audiences}
	case *authorizationv1.LocalSubjectAccessReview:
		o.Status = allowed
	case *authorizationv1.SelfSubjectAccessReview:
		o.Status = allowed
	case *authorizationv1.SubjectAccessReview:
		o.Status = allowed
	case *authorizationv1.SelfSubjectRulesReview:
		all := []string{"*"}
		o.Status = authorizationv1.SubjectRulesReviewStatus{
			ResourceRules:    []authorizationv1.ResourceRule{{Verbs: all, APIGroups: all, Resources: all}},
			NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: all, NonResourceURLs: all}},
		}
	}
}

func (c *call) review(kind schema.GroupVersionKind) error {
	if c.r.Method != http.MethodPost {
		return errMethod()
	}
	c.res = &resource{gvk: kind, gvr: kind.GroupVersion().WithResource(pluralOf(kind)), typed: true}
	c.res.storage = c.res
	c.res.prepareHeads()
	var err error
	if c.accept, err = negotiate(c.r.Header.Get("Accept"), c.res); err != nil {
		return err
	}
	obj, err := c.body()
	if err != nil {
		return err
	}
	reviewed(obj)
	setTypeMeta(obj, c.res)
	return c.writeRecord(http.StatusCreated, &record{obj: obj})
}
