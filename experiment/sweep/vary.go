package sweep

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Vary is one profile field and the values that it takes in turn.
type Vary struct {
	Field  string   `json:"field"`
	Values []string `json:"values"`
}

// ParseVary reads "FIELD=V1,V2,...". A value that holds a comma is put in double
// quotes, and a double quote within it is doubled, as in CSV. The same field named
// again adds values. The error lists every problem.
func ParseVary(args []string) ([]Vary, error) {
	var all []Vary
	var errs []error
	for _, arg := range args {
		v, err := parseVary(arg)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		i := slices.IndexFunc(all, func(o Vary) bool { return o.Field == v.Field })
		if i < 0 {
			all = append(all, Vary{Field: v.Field})
			i = len(all) - 1
		}
		for _, value := range v.Values {
			if slices.Contains(all[i].Values, value) {
				errs = append(errs, fmt.Errorf("--vary %s: the value %q is given twice: give it once, and use --repeat for more runs", v.Field, value))
				continue
			}
			all[i].Values = append(all[i].Values, value)
		}
	}
	if len(args) == 0 {
		errs = append(errs, errors.New("--vary: nothing to vary: want a field and its values, such as --vary target.env.PILOT_DEBOUNCE_AFTER=10ms,100ms"))
	}
	return all, errors.Join(errs...)
}

func parseVary(arg string) (Vary, error) {
	field, list, ok := strings.Cut(arg, "=")
	if !ok || field == "" || list == "" {
		return Vary{}, fmt.Errorf("--vary %q: want FIELD=V1,V2,..., such as target.env.GOGC=50,100", arg)
	}
	r := csv.NewReader(strings.NewReader(list))
	r.TrimLeadingSpace = true
	values, err := r.Read()
	if err != nil {
		return Vary{}, fmt.Errorf("--vary %q: the values cannot be read (%w): put a value that holds a comma or a quote in double quotes, and double the quotes within", arg, err)
	}
	for i, value := range values {
		values[i] = strings.TrimSpace(value)
		if values[i] == "" && !strings.HasPrefix(field, "target.env.") {
			return Vary{}, fmt.Errorf("--vary %q: value %d is empty: is there an extra comma?", arg, i+1)
		}
	}
	return Vary{Field: field, Values: values}, nil
}

// String writes the option that ParseVary reads.
func (v Vary) String() string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	_ = w.Write(v.Values) // to memory: it cannot fail
	w.Flush()
	return v.Field + "=" + strings.TrimSuffix(out.String(), "\n")
}

// shortName is the field's name in tables: without the path where the last part says
// enough, as that of an environment variable does.
func (v Vary) shortName() string {
	if name, ok := strings.CutPrefix(v.Field, "target.env."); ok {
		return name
	}
	return v.Field
}
