package profiles_test

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/profiles"
)

// leaves calls do for each field below t that holds no others.
func leaves(t reflect.Type, path string, do func(path string, f reflect.StructField)) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		below := strings.TrimPrefix(path+"."+name, ".")
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct {
			inner, below = inner.Elem(), below+"[0]"
		}
		if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[metav1.Duration]() {
			leaves(inner, below, do)
			continue
		}
		do(below, f)
	}
}

func TestEveryFieldDeclaresItsRole(t *testing.T) {
	t.Parallel()
	n := 0
	leaves(reflect.TypeFor[profiles.Profile](), "", func(path string, f reflect.StructField) {
		n++
		declared := profiles.Role(f.Tag.Get("role"))
		if declared != profiles.RoleLoad && declared != profiles.RoleSetting {
			t.Errorf("%s: its tag gives the role %q", path, declared)
		}
		if got := profiles.RoleOf(path); got != declared {
			t.Errorf("RoleOf(%q) = %q, the field's tag says %q", path, got, declared)
		}
	})
	if n < 50 {
		t.Errorf("only %d fields found", n)
	}
}

func TestRoleOfAnyPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]profiles.Role{
		"rate":                         profiles.RoleLoad,
		"churn":                        profiles.RoleLoad,
		"churn[3].rate":                profiles.RoleLoad,
		"mesh":                         profiles.RoleLoad,
		"proxies":                      profiles.RoleLoad, // holds both
		"proxies.kinds.ztunnel":        profiles.RoleLoad,
		"proxies.applyDelay":           profiles.RoleLoad,
		"proxies.variant":              profiles.RoleSetting,
		"target.env.A.B":               profiles.RoleSetting,
		"target.outage":                profiles.RoleLoad,
		"target.replicas":              profiles.RoleSetting,
		"slo.propagation.all.p99":      profiles.RoleSetting,
		"target.env":                   profiles.RoleSetting,
		"proxies.size":                 "",
		"":                             "",
		"target.env.":                  "",
		"churn[0]rate":                 "",
		"churn[0":                      "",
		"churn[-1].rate":               "",
		"churn.rate":                   "",
		"target.kind[0]":               "",
		"mesh..services":               "",
		"phases.steady.Duration":       "",
		"target.metricNames.pilot_xds": profiles.RoleSetting,
	} {
		if got := profiles.RoleOf(path); got != want {
			t.Errorf("RoleOf(%q) = %q, want %q", path, got, want)
		}
	}
}
