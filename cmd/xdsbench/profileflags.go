package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/internal/rate"
	"github.com/xdsbench/xdsbench/profiles"
)

// profileFlags choose and change a profile.
type profileFlags struct {
	file string
	set  []string
	rate string
}

// shortForms are the flags that stand for one profile field each.
func shortForms() []struct{ flag, field, help string } {
	return []struct{ flag, field, help string }{
		{"proxies", "proxies.count", "number of fake proxies"},
		{"variant", "proxies.variant", "xDS variant: sotw, delta or mixed"},
		{"duration", "phases.steady", "length of the steady phase, such as 30s"},
		{"seed", "seed", "seed of everything drawn by chance"},
		{"target", "target.kind", "control plane: embedded, istiod, exec or external"},
		{"istiod-binary", "target.binary", "path of istiod's pilot-discovery, for --target istiod"},
		{"exec", "target.exec", "command line of a control plane, for --target exec; {kubeconfig}, {xds}, {metrics} and {pprof} are filled in"},
		{"xds-address", "target.xdsAddress", "address of a running control plane, HOST:PORT or unix:/PATH, for --target external; several separated by commas"},
		{"metrics-url", "target.metricsURL", "Prometheus metrics of the control plane, for --target external or exec"},
		{"pprof-url", "target.pprofURL", "pprof of the control plane, for --target external or exec"},
		{"clusters", "target.clusterName", "how the control plane names its EDS resources: a template of {service}, {namespace}, {port} and {portName}"},
	}
}

// register declares the flags.
func (f *profileFlags) register(flags *pflag.FlagSet) {
	flags.StringVarP(&f.file, "file", "f", "", "profile file, instead of a built-in profile")
	flags.StringArrayVar(&f.set, "set", nil, "set a profile field: FIELD=VALUE, such as churn[0].rate=5/s (repeatable)")
	flags.StringVar(&f.rate, "rate", "", "mutations per second in all, such as 10/s; keeps the proportions of the churn kinds")
	for _, s := range shortForms() {
		flags.String(s.flag, "", s.help+" (field "+s.field+")")
	}
}

// resolve returns the profile that the flags and the argument name. Short
// forms go over --set, which goes over the file.
func (f *profileFlags) resolve(c *cobra.Command, args []string) (*profiles.Profile, error) {
	settings := f.set
	for _, s := range shortForms() {
		if value := c.Flags().Lookup(s.flag); value.Changed {
			settings = append(settings, s.field+"="+value.Value.String())
		}
	}
	p, err := f.load(args, settings)
	if err != nil {
		return nil, err
	}
	if f.rate != "" {
		total, err := rate.Parse(f.rate)
		if err != nil {
			return nil, fmt.Errorf("--rate: %w", err)
		}
		if err := p.SetRate(total); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (f *profileFlags) load(args, settings []string) (*profiles.Profile, error) {
	switch {
	case f.file != "" && len(args) > 0:
		return nil, errors.New("both a profile's name and -f are given: give one of them")
	case f.file != "":
		return profiles.LoadFile(f.file, settings, harness.Validate)
	case len(args) > 0:
		return profiles.Load(args[0], settings, harness.Validate)
	default:
		return profiles.Load("quickstart", settings, harness.Validate)
	}
}
