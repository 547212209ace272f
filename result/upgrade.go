package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// schemaV1 is the layout before some fields got the names that they have now.
const schemaV1 = "xdsbench/result/v1"

// renamed lists the fields of schema v1 that have other names now, by their path.
// A "[]" stands for every element of a list.
func renamed() map[string]string {
	return map[string]string{
		"sync.unexplained":                      "unknownStates",
		"mutations.silent":                      "noop",
		"propagation.superseded":                "coalesced",
		"propagation.unreached":                 "undelivered",
		"propagation.unexplained":               "unknownStates",
		"propagation.unexplainedExamples":       "unknownStateExamples",
		"convergence.ghostEndpoints":            "staleEndpoints",
		"convergence.ghostEndpointsInOutage":    "staleEndpointsInOutage",
		"convergence.examples.[].ghosts":        "stale",
		"outages.[].held.ghostEndpoints":        "staleEndpoints",
		"controlPlane.signals.errors.unreached": "undelivered",
	}
}

// RenamedMetric returns the present name of a metric that schema v1 had under
// another one; false for all others.
func RenamedMetric(name string) (now string, ok bool) {
	field, ok := renamed()[name]
	if !ok {
		return "", false
	}
	return name[:strings.LastIndexByte(name, '.')+1] + field, true
}

// Upgrade gives the content of a result file the present schema. Errors name path.
func Upgrade(data []byte, path string) ([]byte, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	switch head.Schema {
	case Schema:
		return data, nil
	case schemaV1:
	default:
		return nil, fmt.Errorf("loading %s: its schema is %q, this version reads %q and %q: use the version of xdsbench that wrote it",
			path, head.Schema, Schema, schemaV1)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // whole numbers stay whole
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	tree["schema"] = Schema
	for old, now := range renamed() {
		rename(tree, strings.Split(old, "."), now)
	}
	upgradeSLOs(tree)
	if e, ok := tree["environment"].(map[string]any); ok {
		if target, ok := e["target"].(string); ok {
			e["target"] = strings.Replace(target, "API server in memory", "in-memory API server", 1)
		}
	}
	return upgradeFigures(tree, path)
}

// rename gives the field at the end of a path its new name, wherever it is. What has
// another shape than schema v1 is left alone: reading it says what is wrong.
func rename(node any, path []string, now string) {
	switch n := node.(type) {
	case []any:
		if path[0] != "[]" {
			return
		}
		for _, element := range n {
			rename(element, path[1:], now)
		}
	case map[string]any:
		value, ok := n[path[0]]
		if !ok {
			return
		}
		if len(path) > 1 {
			rename(value, path[1:], now)
			return
		}
		delete(n, path[0])
		n[now] = value
	}
}

// upgradeSLOs renames the metrics of SLOs, in the result and in its profile.
func upgradeSLOs(tree map[string]any) {
	slos, _ := tree["slo"].([]any)
	for _, slo := range slos {
		s, _ := slo.(map[string]any)
		name, _ := s["metric"].(string)
		if now, ok := RenamedMetric(name); ok {
			s["metric"] = now
		}
	}
	profile, _ := tree["profile"].(map[string]any)
	limits, _ := profile["slo"].(map[string]any)
	for name, limit := range limits {
		if now, ok := RenamedMetric(name); ok {
			delete(limits, name)
			limits[now] = limit
		}
	}
}
