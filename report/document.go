package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// Fleet summarises a fleet that was kept connected without churn.
func Fleet(r *result.Result) *doc.Document {
	d := &doc.Document{}
	fleetFacts(d.Section(""), r)
	if r.Sync != nil {
		volume(d.Section("Volume").Table(), r.Sync.Volume)
	}
	notes(d.Section("Notes"), r)
	return d
}

// profile is what a report says of the profile; it reads nothing else of it.
type profile struct {
	Name string `json:"name"`
	Seed uint64 `json:"seed"`
	Mesh struct {
		Namespaces          int `json:"namespaces"`
		Services            int `json:"services"`
		EndpointsPerService int `json:"endpointsPerService"`
		Classes             []struct {
			Services  int `json:"services"`
			Endpoints int `json:"endpoints"`
		} `json:"classes"`
	} `json:"mesh"`
	Phases struct {
		Steady string `json:"steady"`
	} `json:"phases"`
	Answer []struct {
		Says   string `json:"says"`
		Metric string `json:"metric"`
	} `json:"answer"`
}

// Document is the report of a run for people. dir, where the result is saved, is named
// at the end unless it is empty.
func Document(r *result.Result, dir string) (*doc.Document, error) {
	var p profile
	if len(r.Profile) > 0 {
		if err := json.Unmarshal(r.Profile, &p); err != nil {
			return nil, fmt.Errorf("the result's profile: %w", err)
		}
	}
	v := verdict.Of(r)
	d := &doc.Document{Title: p.Name, Verdict: v, VerdictStyle: style(v), Headline: headline(r)}
	d.Section("").List(r.Reasons...)
	answer(d.Section("Answer").Table(), r, &p)
	facts(d.Section(""), r, &p)
	slo(d.Section("SLO").Table(), r.SLO)
	propagation(d.Section("Propagation").Table(), r.Propagation)
	effects(d.Section("What the changes caused").Table(), r.Mutations)
	stages(d.Section("Stages"), r.ControlPlane)
	proxyKinds(d.Section("Kinds of proxy").Table(), r.Proxies)
	replicas(d.Section("Replicas").Table(), r.ControlPlane)
	volume(d.Section("Volume").Table(), r.Volume)
	hotspots(d, r.ControlPlane)
	notes(d.Section("Notes"), r)
	d.Section("").Pair("Files", dir)
	return d, nil
}

// notes are what a reader must know before the numbers are used.
func notes(s *doc.Section, r *result.Result) {
	each := func(label string, texts []string) {
		for _, text := range texts {
			s.Pair(label, text)
		}
	}
	counted := func(label string, counts map[string]int64) {
		for _, reason := range slices.Sorted(maps.Keys(counts)) {
			s.Pair(label, units.Plural(counts[reason], "time", "times")+": "+reason)
		}
	}
	if r.Proxies != nil {
		counted("Failure", r.Proxies.Failures)
	}
	if r.Acks != nil {
		counted("NACK", r.Acks.Reasons)
	}
	each("Warning", r.Warnings)
}
