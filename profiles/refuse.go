package profiles

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/target"
)

// validateChurn reports the problems of the churn entries, by themselves and with what
// else the profile says.
func (p *Profile) validateChurn() error {
	var errs []error
	for i, c := range p.Churn {
		path := fmt.Sprintf("churn[%d].", i)
		errs = append(errs, prefix(path, c.Validate()))
		if why := p.refuses(c.Kind); why != "" {
			errs = append(errs, fmt.Errorf("%skind: %q: %s", path, c.Kind, why))
		}
		if start := c.Start.Duration; start > 0 && start >= p.Phases.Steady.Duration {
			errs = append(errs, fmt.Errorf("%sstart: %s: must be before the end of phases.steady, %s", path, start, p.Phases.Steady.Duration))
		}
	}
	return errors.Join(errs...)
}

// refuses says why the target cannot be asked for a kind of change; "" if it can.
func (p *Profile) refuses(kind string) string {
	needs := churn.NeedsOf(kind)
	switch {
	case needs == churn.NeedsNothing, p.Target.Kind == target.KindIstiod:
		return ""
	case p.Target.Kind == target.KindEmbedded && (needs == churn.NeedsListeners || embeddedKnows(kind)):
		return ""
	}
	what := "needs a control plane that knows these objects of Istio's"
	if needs == churn.NeedsListeners {
		what = "needs a control plane that makes listeners of headless pods, or nothing could be delivered"
	}
	if p.Target.Kind == target.KindEmbedded {
		return what + ", which the embedded one does not: use target.kind " + target.KindIstiod
	}
	return what + ", which is not known of target.kind " + p.Target.Kind + ": use " + target.KindIstiod
}

// embeddedKnows reports whether a kind of change is of config objects that the embedded
// control plane knows.
func embeddedKnows(kind string) bool {
	known := []mesh.ConfigKind{mesh.VirtualService, mesh.DestinationRule, mesh.Sidecar}
	return slices.ContainsFunc(known, func(object mesh.ConfigKind) bool { return strings.HasPrefix(kind, string(object)+"-") })
}
