package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Leaves returns the plain values of a JSON document by their paths, such as
// "churn[0].rate", with numbers as they are written. What is null is left out.
func Leaves(document []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	leaves := make(map[string]string)
	gather(leaves, "", tree)
	return leaves, nil
}

func gather(leaves map[string]string, path string, node any) {
	switch n := node.(type) {
	case map[string]any:
		for key, child := range n {
			below := key
			if path != "" {
				below = path + "." + key
			}
			gather(leaves, below, child)
		}
	case []any:
		for i, child := range n {
			gather(leaves, fmt.Sprintf("%s[%d]", path, i), child)
		}
	case nil:
	default:
		leaves[path] = fmt.Sprint(n)
	}
}

// Differences lists where the wanted leaves differ from the saved ones, in the order
// of their paths, as "path: saved, not wanted".
func Differences(saved, wanted map[string]string) []string {
	all := maps.Clone(saved)
	maps.Copy(all, wanted)
	var diff []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if a, b := saved[path], wanted[path]; a != b {
			diff = append(diff, fmt.Sprintf("%s: %s, not %s", path, orNone(a), orNone(b)))
		}
	}
	return diff
}

func orNone(text string) string {
	if text == "" {
		return "(none)"
	}
	return text
}
