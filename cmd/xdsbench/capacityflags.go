package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/experiment/capacity"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result/metric"
)

// parse reads the flags. Plan is nil if nothing is to be searched. The error
// lists every problem.
func (f *capacityFlags) parse(c *cobra.Command, args []string) (capacity.Options, *capacity.Plan, error) {
	o := capacity.Options{From: f.from, ReplicaCPU: f.replicaCPU}
	errs := []error{f.output.format.check()}
	add := func(err error) { errs = append(errs, err) }
	for _, text := range f.predict {
		size, err := capacity.ParsePredict(text)
		o.Predict = append(o.Predict, size)
		add(err)
	}
	var err error
	o.Sizes, err = capacity.ParseSizes(f.sizes)
	add(err)
	if f.replicaMemory != "" {
		bytes, lower, err := metric.ParseLimit("controlPlane.peakRSSBytes", f.replicaMemory)
		if o.ReplicaMemory = bytes; err != nil || lower || bytes <= 0 {
			add(fmt.Errorf("--replica-memory: %q: want a size above 0, such as 4GiB or 512MiB", f.replicaMemory))
		}
	}
	if f.replicaCPU < 0 || c.Flags().Changed("replica-cpu") && f.replicaCPU == 0 {
		add(fmt.Errorf("--replica-cpu: %g: must be above 0", f.replicaCPU))
	}
	if f.grow == "" && len(f.from) == 0 {
		add(errors.New("neither --grow nor --from: give a field to grow, such as --grow proxies=100..5000, or folders of saved runs"))
	}
	profile, err := f.resolve(c, args)
	add(err)
	if f.grow == "" || err != nil {
		return o, nil, errors.Join(errs...)
	}
	plan, err := f.plan(profile)
	add(err)
	return o, plan, errors.Join(errs...)
}

func (f *capacityFlags) plan(profile *profiles.Profile) (*capacity.Plan, error) {
	base, byDefault, errSLO := capacity.WithSLO(profile, f.slo)
	if errSLO != nil {
		base = profile
	}
	grow, errGrow := capacity.ParseGrow(f.grow, profile)
	tolerance, errTolerance := parseShare("--tolerance", f.tolerance)
	soak, errSoak := f.soakOf(profile)
	plan := &capacity.Plan{
		Base: base, Grow: grow, Step: f.step, Tolerance: tolerance, Repeat: f.repeat,
		Soak: metav1.Duration{Duration: soak}, DefaultSLO: byDefault, Kubeconfig: f.apiServer.kubeconfig, Context: f.apiServer.context,
	}
	if errTolerance != nil {
		plan.Tolerance = 0.05 // one problem is named once
	}
	return plan, errors.Join(errSLO, errGrow, errTolerance, errSoak, plan.Validate(), f.apiServer.check(profile))
}

func (f *capacityFlags) soakOf(p *profiles.Profile) (time.Duration, error) {
	switch f.soak {
	case "":
		return 2 * p.Phases.Steady.Duration, nil
	case "0":
		return 0, nil
	}
	d, err := time.ParseDuration(f.soak)
	if err != nil {
		return 0, fmt.Errorf("--soak: %q is not a duration: write one such as 60s, or 0 for none", f.soak)
	}
	return d, nil
}

// parseShare reads "5%" or "0.05".
func parseShare(flag, text string) (float64, error) {
	number, isPercent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not a share: write one such as 5%%", flag, text)
	}
	if isPercent {
		share /= 100
	}
	return share, nil
}

// commandsOf writes the commands that repeat a search and its report.
func commandsOf(c *cobra.Command, args []string, dir string) []string {
	words := append([]string{c.CommandPath()}, args...)
	c.Flags().Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(interface{ GetSlice() []string }); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if flag.Name != "out" && flag.Name != "quiet" && flag.Name != "format" {
				words = append(words, "--"+flag.Name, quoted(v))
			}
		}
	})
	return []string{strings.Join(append(words, "--out", quoted(dir)), " "), "xdsbench report " + quoted(dir)}
}

// quoted makes a word one word of a shell.
func quoted(word string) string {
	if regexp.MustCompile(`^[\w./=:,%@+-]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
