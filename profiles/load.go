package profiles

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/xdsbench/xdsbench/internal/rate"
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

// Load resolves a built-in profile and lays the settings, each "field=value",
// over it.
func Load(name string, settings []string) (*Profile, error) {
	data, err := Source(name)
	if err != nil {
		return nil, err
	}
	return Parse(data, settings)
}

// LoadFile resolves the profile in a YAML file.
func LoadFile(file string, settings []string) (*Profile, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("profile file: %w", err)
	}
	p, err := Parse(data, settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// Parse resolves a profile from YAML text, with settings laid over it, and
// validates it. The error lists every problem, one line each.
func Parse(data []byte, settings []string) (*Profile, error) {
	tree := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &tree); err != nil {
		return nil, fmt.Errorf("not valid YAML: %w", err)
	}
	var errs []error
	for _, s := range settings {
		if err := set(tree, s); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	merged, err := yaml.Marshal(tree)
	if err != nil {
		return nil, err
	}
	p := Default()
	if err := decode(merged, &p); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &p, nil
}

// decode fills p from YAML. Values are read with the destination's type in
// view, so that an unquoted 10 is good for a string field. A second, strict
// pass over the same document finds all unknown fields with their full paths.
func decode(data []byte, p *Profile) error {
	asJSON, err := yaml.YAMLToJSON(data)
	if err != nil {
		return err
	}
	unknown, hard := kjson.UnmarshalStrict(asJSON, new(Profile))
	var errs []error
	for _, u := range unknown {
		errs = append(errs, fmt.Errorf("%w; `xdsbench profiles show quickstart` shows the fields there are", u))
	}
	if err := yaml.Unmarshal(data, p); err != nil {
		if hard != nil {
			err = hard
		}
		errs = append(errs, cleanDecodeError(err))
	}
	return errors.Join(errs...)
}

// cleanDecodeError says which field has the wrong kind of value.
func cleanDecodeError(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &kind):
		return errors.New(strings.TrimPrefix(strings.ReplaceAll(err.Error(), "json: ", ""), "error unmarshaling JSON: while decoding JSON: "))
	case kind.Type.Kind() == reflect.String && kind.Value == "number":
		return fmt.Errorf("%s: a plain number: a duration needs its unit, such as 20s or 250ms", kind.Field)
	default:
		return fmt.Errorf("%s: %s: want a value of type %s", kind.Field, kind.Value, kind.Type)
	}
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
	changed, err := Parse(data, settings)
	if err != nil || total == "" {
		return changed, err
	}
	r, err := rate.Parse(total)
	if err != nil {
		return nil, err
	}
	return changed, changed.SetRate(r)
}
