package profiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// maxNodes bounds how many values of a document are looked at: aliases of aliases
// can stand for more than any memory holds.
const maxNodes = 100_000

// checker compares a YAML document with the types of a profile. It tells what is
// wrong with the text; what is wrong with the values is for Profile.Validate.
type checker struct {
	// positions says whether problems name line and column.
	positions bool
	nodes     int

	// at is where each field is in the document: "line 12, column 10".
	at map[string]string
	// texts are the values of text fields as they are written: YAML alone would
	// take an unquoted 1.10 for the number 1.1.
	texts map[string]string
	// bad are the paths of the values that cannot be read.
	bad  []string
	errs []error
}

func newChecker(positions bool) *checker {
	return &checker{positions: positions, at: map[string]string{}, texts: map[string]string{}}
}

// fail notes that the value of a node cannot be read.
func (c *checker) fail(path string, n *yamlv3.Node, text string) {
	c.bad = append(c.bad, path)
	c.report(path, n, text)
}

// report notes what is wrong at a node.
func (c *checker) report(path string, n *yamlv3.Node, text string) {
	if c.positions {
		text = position(n) + ": " + text
	}
	if path != "" {
		text = path + ": " + text
	}
	c.errs = append(c.errs, errors.New(text))
}

// value checks the node of a field of type t, and all below it.
func (c *checker) value(path string, t reflect.Type, n *yamlv3.Node) {
	if c.nodes++; c.nodes > maxNodes {
		if c.nodes == maxNodes+1 {
			c.fail(path, n, fmt.Sprintf("the document has more than %d values, those of aliases counted each time", maxNodes))
		}
		return
	}
	if c.at[path] == "" {
		c.at[path] = position(n)
	}
	t, n = pointee(t), resolve(n)
	switch {
	case isNull(n):
	case holdsFields(t) && (!decodesItself(t) || n.Kind == yamlv3.MappingNode):
		c.fields(path, t, n)
	case t.Kind() == reflect.Map:
		c.keys(path, t, n)
	case t.Kind() == reflect.Slice:
		c.elements(path, t, n)
	case t.Kind() == reflect.String && n.Kind == yamlv3.ScalarNode:
		if _, ok := c.texts[path]; !ok {
			c.texts[path] = n.Value
		}
	default:
		if err := decodeLeaf(t, n); err != nil {
			c.fail(path, n, mismatch(t, n, err))
		}
	}
}

// elements checks a list.
func (c *checker) elements(path string, t reflect.Type, n *yamlv3.Node) {
	if n.Kind != yamlv3.SequenceNode {
		c.fail(path, n, describe(n)+" stands where a list is wanted")
		return
	}
	for i, element := range n.Content {
		c.value(fmt.Sprintf("%s[%d]", path, i), t.Elem(), element)
	}
}

// fields checks a mapping against the fields of a struct.
func (c *checker) fields(path string, t reflect.Type, n *yamlv3.Node) {
	c.mapping(path, t, n, "fields: "+strings.Join(names(t), ", "), func(key, value *yamlv3.Node) {
		if f, ok := fieldNamed(t, key.Value); ok {
			c.value(join(path, key.Value), f.Type, value)
			return
		}
		c.fail(join(path, key.Value), key, unknownField(t, path, key.Value))
		if decodesItself(t) {
			c.bad = append(c.bad, path) // it may refuse the whole for the one
		}
	})
}

// keys checks a mapping whose keys are free.
func (c *checker) keys(path string, t reflect.Type, n *yamlv3.Node) {
	c.mapping(path, t, n, "names, each with its value", func(key, value *yamlv3.Node) {
		c.value(join(path, key.Value), t.Elem(), value)
	})
}

// mapping goes through the pairs of a mapping, then through what is merged into it
// (<<), which gives way to them.
func (c *checker) mapping(path string, t reflect.Type, n *yamlv3.Node, want string, pair func(key, value *yamlv3.Node)) {
	if n.Kind != yamlv3.MappingNode {
		c.fail(path, n, describe(n)+" stands where a mapping is wanted of "+want)
		return
	}
	seen := map[string]*yamlv3.Node{}
	var merged []*yamlv3.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch first := seen[key.Value]; {
		case key.Tag == "!!merge" && resolve(value).Kind == yamlv3.SequenceNode:
			merged = append(merged, resolve(value).Content...)
		case key.Tag == "!!merge":
			merged = append(merged, value)
		case first != nil:
			c.fail(join(path, key.Value), key, fmt.Sprintf("is given twice, first in line %d", first.Line))
		default:
			seen[key.Value] = key
			pair(key, value)
		}
	}
	for _, m := range merged {
		c.value(path, t, m)
	}
}

// decodeLeaf tries whether a value that holds no others can be decoded.
func decodeLeaf(t reflect.Type, n *yamlv3.Node) error {
	plain := *n
	plain.Anchor = ""
	text, err := yamlv3.Marshal(&plain)
	if err != nil {
		return err
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	return json.Unmarshal(asJSON, reflect.New(t).Interface())
}

// mismatch says why a value cannot be decoded.
func mismatch(t reflect.Type, n *yamlv3.Node, err error) string {
	_, notFloat := strconv.ParseFloat(n.Value, 64)
	_, notInt := strconv.ParseInt(n.Value, 10, 64)
	want := "a whole number"
	switch k := t.Kind(); {
	case t == reflect.TypeFor[metav1.Duration]():
		return describe(n) + " is not a duration: write a number with its unit, such as 20s or 250ms"
	case decodesItself(t):
		message, _, _ := strings.Cut(err.Error(), ": json: ")
		return message
	case k == reflect.String:
		want = "text"
	case k == reflect.Bool:
		want = "true or false"
	case k == reflect.Float64:
		want = "a number"
	case errors.Is(notInt, strconv.ErrRange):
		return n.Value + " is too large"
	case k == reflect.Uint64:
		want = "a whole number of 0 or more"
	}
	if n.Style&(yamlv3.DoubleQuotedStyle|yamlv3.SingleQuotedStyle) != 0 && notFloat == nil {
		return fmt.Sprintf("%q is text, not %s: leave the quotes out", n.Value, want)
	}
	return describe(n) + " is not " + want
}

// describe names a node's value in a message.
func describe(n *yamlv3.Node) string {
	switch n.Kind {
	case yamlv3.MappingNode:
		return "a mapping"
	case yamlv3.SequenceNode:
		return "a list"
	default:
		return strconv.Quote(n.Value)
	}
}

func position(n *yamlv3.Node) string { return fmt.Sprintf("line %d, column %d", n.Line, n.Column) }

// resolve returns the value that a document or an alias stands for.
func resolve(n *yamlv3.Node) *yamlv3.Node {
	for {
		switch n.Kind {
		case yamlv3.DocumentNode:
			n = n.Content[0]
		case yamlv3.AliasNode:
			n = n.Alias
		default:
			return n
		}
	}
}

// isNull reports whether a node gives no value, which leaves the default.
func isNull(n *yamlv3.Node) bool {
	return n.Kind == 0 || n.Kind == yamlv3.ScalarNode && n.Tag == "!!null"
}

// decodesItself reports whether values of the type have a notation of their own.
func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}
