package profiles_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/target"
)

func TestChurnThatTheTargetCannotBeAskedForIsRefusedAllAtOnce(t *testing.T) {
	t.Parallel()
	p := profiles.Default()
	p.Churn = []churn.Spec{
		{Kind: "service-add", Rate: 1},
		{Kind: "virtual-service-update", Rate: 1},
		{Kind: "headless-pod", Rate: 1, Start: metav1.Duration{Duration: time.Hour}},
	}
	err := p.Validate()
	for _, want := range []string{`churn[1].kind: "virtual-service-update"`, `churn[2].kind: "headless-pod"`, "churn[2].start: 1h0m0s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "churn[0]") {
		t.Errorf("service-add is refused: %v", err)
	}
	p.Target.Kind, p.Target.Binary = target.KindIstiod, "pilot-discovery"
	p.Churn[2].Start = metav1.Duration{}
	if err := p.Validate(); err != nil {
		t.Errorf("istiod: %v", err)
	}
}
