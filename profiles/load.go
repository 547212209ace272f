package profiles

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/xdsbench/xdsbench/internal/rate"
	"github.com/xdsbench/xdsbench/mesh/custom"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Names lists the built-in profiles in alphabetical order.
func Names() []string {
	entries, err := fs.ReadDir(builtin, "builtin")
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Source returns the YAML text of a built-in profile.
func Source(name string) ([]byte, error) {
	data, err := builtin.ReadFile(path.Join("builtin", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("profile %q: no such built-in profile; there are %s (or name a file with -f)",
			name, strings.Join(Names(), ", "))
	}
	return data, nil
}

// Load resolves a built-in profile with settings, each "field=value", laid over it,
// and validates it as Parse does.
func Load(name string, settings []string, checks ...func(*Profile) error) (*Profile, error) {
	data, err := Source(name)
	if err != nil {
		return nil, err
	}
	return Parse(data, settings, checks...)
}

// LoadFile does for a YAML file what Parse does for its text. Paths in it are relative
// to the file.
func LoadFile(file string, settings []string, checks ...func(*Profile) error) (*Profile, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("profile file: %w", err)
	}
	p, err := parse(data, settings, filepath.Dir(file), true, checks)
	return p, prefix(file+": ", err)
}

// Parse resolves a profile from YAML text, with settings laid over it, and
// validates it, by Profile.Validate and by the checks. The error lists every problem,
// a line each, that begins with the field's path, followed by line and column if the
// text has it. Files that the profile names, relative to the working directory, are
// read into it.
func Parse(data []byte, settings []string, checks ...func(*Profile) error) (*Profile, error) {
	return parse(data, settings, "", true, checks)
}

// parse is Parse, with files in dir, and with line and column in the errors or not.
func parse(data []byte, settings []string, dir string, positions bool, checks []func(*Profile) error) (*Profile, error) {
	var document yamlv3.Node
	tree := map[string]any{}
	if err := yamlv3.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	c := newChecker(positions)
	c.value("", reflect.TypeFor[Profile](), &document)
	if !slices.Contains(c.bad, "") {
		if err := decode(&document, &tree); err != nil {
			return nil, fmt.Errorf("not valid YAML: %w", err)
		}
	}
	c.amend(tree)
	for _, s := range settings {
		path, err := set(tree, s)
		if err != nil {
			c.errs, c.bad = append(c.errs, err), append(c.bad, path)
			continue
		}
		// A problem of the value is no longer the file's.
		maps.DeleteFunc(c.at, func(at, _ string) bool { return within(at, path) || within(path, at) })
	}
	prune(tree)
	merged, err := yaml.Marshal(tree)
	if err != nil {
		return nil, err
	}
	p := Default()
	if err := yaml.Unmarshal(merged, &p); err != nil {
		return nil, errors.Join(append(c.errs, err)...)
	}
	c.readFiles(&p, dir)
	p.resolveScale()
	for _, check := range append([]func(*Profile) error{(*Profile).Validate}, checks...) {
		c.invalid(check(&p))
	}
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	return &p, nil
}

// decode reads a document into a value.
func decode(document *yamlv3.Node, value any) error {
	if document.Kind == 0 {
		return nil // it is empty
	}
	spellOut(document)
	text, err := yamlv3.Marshal(document)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, value)
}

// spellOut writes keys and nulls so that they are read as such: YAML 1.1 takes n, on and
// off, which are names of fields, for booleans.
func spellOut(n *yamlv3.Node) {
	if n.Tag == "!!null" {
		n.Value = "null"
	}
	for i, child := range n.Content {
		spellOut(child)
		if n.Kind == yamlv3.MappingNode && i%2 == 0 && child.Kind == yamlv3.ScalarNode && child.Tag != "!!merge" {
			child.Tag, child.Style = "!!str", yamlv3.DoubleQuotedStyle
		}
	}
}

// readFiles reads the files that the profile names into it.
func (c *checker) readFiles(p *Profile, dir string) {
	read := func(path string, f *custom.File) {
		if err := f.Read(dir); err != nil {
			c.invalid(fmt.Errorf("%s: %w", path, err))
			c.bad = append(c.bad, path)
		}
	}
	for i := range p.Mesh.Objects {
		read(fmt.Sprintf("mesh.objects[%d].template", i), &p.Mesh.Objects[i].File)
	}
	for i := range p.Mesh.CRDs {
		read(fmt.Sprintf("mesh.crds[%d]", i), &p.Mesh.CRDs[i])
	}
}

// amend puts texts into the decoded document as they are written, and takes what
// cannot be read out of it, so that the rest can be validated.
func (c *checker) amend(tree map[string]any) {
	put := func(path string, value any) {
		if f, err := fieldAt(path); err == nil {
			_, _ = assign(tree, f.steps, value) // the index is that of the document
		}
	}
	for path, text := range c.texts {
		put(path, text)
	}
	for _, path := range c.bad {
		put(path, nil)
	}
}

// prune takes out the fields without a value, which leaves them their defaults.
func prune(node any) {
	switch n := node.(type) {
	case map[string]any:
		maps.DeleteFunc(n, func(_ string, value any) bool {
			prune(value)
			return value == nil
		})
	case []any:
		for _, element := range n {
			prune(element)
		}
	}
}

// invalid adds the problems that a validation found, each once, with the place of its
// field in the document. Problems that may follow from a value that cannot be read are
// left out.
func (c *checker) invalid(err error) {
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		path, rest, _ := strings.Cut(line, ": ")
		consequence := func(bad string) bool {
			// The fields of the target depend on its kind.
			return within(path, bad) || within(path, "target") && within(bad, "target")
		}
		if slices.ContainsFunc(c.bad, consequence) {
			continue
		}
		if at := c.at[path]; at != "" && c.positions {
			line = path + ": " + at + ": " + rest
		}
		if !slices.ContainsFunc(c.errs, func(e error) bool { return e.Error() == line }) {
			c.errs = append(c.errs, errors.New(line))
		}
	}
}

// within reports whether a path is that of a field, or of something below it.
func within(path, field string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// prefix puts a path before each line of a joined error.
func prefix(p string, err error) error {
	if err == nil {
		return nil
	}
	return errors.New(p + strings.ReplaceAll(err.Error(), "\n", "\n"+p))
}

// With returns a copy of the profile with settings, each "field=value", laid over
// it, and validates it. Besides the fields of a profile, "rate" sets the mutations
// per second in all, as SetRate does, after all other settings.
func (p *Profile) With(settings ...string) (*Profile, error) {
	data, err := yaml.Marshal(p)
	if err != nil {
		return nil, err
	}
	var total string
	settings = slices.DeleteFunc(slices.Clone(settings), func(s string) bool {
		value, isRate := strings.CutPrefix(s, "rate=")
		if isRate {
			total = value
		}
		return isRate
	})
	changed, err := parse(data, settings, "", false, nil)
	if err != nil || total == "" {
		return changed, err
	}
	r, err := rate.Parse(total)
	if err != nil {
		return nil, fmt.Errorf("rate: %w", err)
	}
	return changed, changed.SetRate(r)
}
