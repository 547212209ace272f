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
		{Kind: "telemetry-update", Rate: 1},
		{Kind: "headless-pod", Rate: 1, Start: metav1.Duration{Duration: time.Hour}},
	}
	err := p.Validate()
	for _, want := range []string{`churn[1].kind: "telemetry-update"`, "churn[2].start: 1h0m0s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
	}
	for _, known := range []string{"churn[0]", "churn[2].kind"} {
		if err != nil && strings.Contains(err.Error(), known) {
			t.Errorf("%s is refused of the embedded control plane: %v", known, err)
		}
	}
	p.Target.Kind, p.Target.XDSAddress = target.KindExternal, "127.0.0.1:15010"
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), `churn[2].kind: "headless-pod"`) {
		t.Errorf("error %v, want one with headless-pod: what any control plane makes of it is not known", err)
	}
	p.Target.Kind, p.Target.XDSAddress, p.Target.Binary = target.KindIstiod, "", "pilot-discovery"
	p.Churn[2].Start = metav1.Duration{}
	if err := p.Validate(); err != nil {
		t.Errorf("istiod: %v", err)
	}
}
