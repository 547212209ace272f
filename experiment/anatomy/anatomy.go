package anatomy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/internal/file"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/effect"
	"github.com/xdsbench/xdsbench/result/observed"
)

// schema names the layout of an anatomy in JSON.
const schema = "xdsbench/anatomy/v1"

// The files of an anatomy's folder, beside the folder of its run.
const (
	jsonFile     = "anatomy.json"
	markdownFile = "anatomy.md"
	runDir       = "run"
)

// Config says what to take apart.
type Config struct {
	// Profile has the mesh, the fleet and the target; its churn is replaced.
	Profile *profiles.Profile
	// Kinds of change to make, as churn names them; empty is all that can be asked for.
	Kinds []string
	// Repeat is how often each is made.
	Repeat int
	// Dir is the folder for the results. It must not exist.
	Dir string
	Run experiment.RunFunc
	// Progress, if set, is called several times a second; kind is empty outside of
	// steady load.
	Progress func(kind string, s harness.Status)
}

// Anatomy is what each kind of change caused and cost.
type Anatomy struct {
	Schema string `json:"schema"`
	// Partial says that it was interrupted: kinds are missing.
	Partial bool   `json:"partial,omitempty"`
	Target  string `json:"target"`
	Version string `json:"version,omitempty"`
	Repeat  int    `json:"repeat"`
	// Proxies are as ready as they ever were, by kind of proxy and by variant.
	Proxies     map[string]int      `json:"proxies"`
	ByVariant   map[string]int      `json:"byVariant"`
	Environment *result.Environment `json:"environment,omitempty"`
	// Idle is what the control plane used with nothing changing.
	Idle *observed.Idle `json:"idle,omitempty"`
	// Kinds are in the order in which they were made.
	Kinds    []Kind    `json:"kinds"`
	Skipped  []Skipped `json:"skipped,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
}

// Kind is one kind of change.
type Kind struct {
	Name string `json:"kind"`
	effect.Kind
	// Undelivered are the pairs of its mutations and proxies that did not arrive.
	Undelivered int64 `json:"undelivered"`
	// Lasts are the latencies of each mutation's last proxy in seconds, in ascending
	// order.
	Lasts []float64 `json:"lasts,omitempty"`
}

// Run makes the run and saves what it shows, also if it was interrupted. There is no
// Anatomy if no change was made.
func Run(ctx context.Context, cfg Config) (*Anatomy, error) {
	p, err := planFor(cfg.Profile, cfg.Kinds, cfg.Repeat)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", harness.ErrInvalid, err)
	}
	if _, err := os.Stat(cfg.Dir); err == nil {
		return nil, fmt.Errorf("%w: output folder %s: already exists: choose another with -o, or remove it", harness.ErrInvalid, cfg.Dir)
	}
	res, err := cfg.Run(ctx, p.profile, filepath.Join(cfg.Dir, runDir), func(s harness.Status) {
		if cfg.Progress == nil {
			return
		}
		kind := ""
		if s.Phase == harness.PhaseSteady {
			kind = p.current(s.Elapsed)
		}
		cfg.Progress(kind, s)
	})
	if res == nil || res.Mutations == nil || res.Mutations.Applied == 0 {
		if err == nil && ctx.Err() == nil {
			err = errors.New("no change was made")
		}
		return nil, errors.Join(err, ctx.Err())
	}
	a := p.read(res, cfg.Repeat)
	return a, errors.Join(err, a.save(cfg.Dir))
}

// read makes the anatomy of a run's result.
func (p *plan) read(res *result.Result, repeat int) *Anatomy {
	a := &Anatomy{
		Schema: schema, Partial: res.Partial, Repeat: repeat, Proxies: make(map[string]int),
		Environment: res.Environment, Skipped: p.skipped, Warnings: slices.Concat(res.Errors, res.Warnings),
	}
	if c := res.ControlPlane; c != nil {
		a.Target, a.Version, a.Idle = c.Kind, c.Version, c.Idle
	}
	if x := res.Proxies; x != nil {
		a.ByVariant = x.ByVariant
		for kind, k := range x.ByKind {
			a.Proxies[kind] = k.Ready
		}
	}
	for _, name := range p.kinds {
		k := res.Mutations.Effects[name]
		if k == nil {
			if !res.Partial {
				a.Skipped = append(a.Skipped, Skipped{name, "no change of this kind could be planned in this mesh (see the warnings)"})
			}
			continue
		}
		kind := Kind{Name: name, Kind: *k}
		for i := range res.MutationRows {
			row := &res.MutationRows[i]
			if row.Kind != name {
				continue
			}
			kind.Undelivered += row.Undelivered
			if row.Sampled {
				kind.Lasts = append(kind.Lasts, row.Last)
			}
		}
		slices.Sort(kind.Lasts)
		a.Kinds = append(a.Kinds, kind)
	}
	return a
}

// save writes the anatomy, and its document, into its folder.
func (a *Anatomy) save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("output folder: %w: choose another with -o", err)
	}
	return errors.Join(
		file.WriteJSON(filepath.Join(dir, jsonFile), a),
		file.Write(filepath.Join(dir, markdownFile), func(w io.Writer) error { return a.Document("").Markdown(w) }),
	)
}

// Is reports whether a path is an anatomy's folder, or its file.
func Is(path string) bool {
	if filepath.Base(path) == jsonFile {
		return true
	}
	_, err := os.Stat(filepath.Join(path, jsonFile))
	return err == nil
}

// Load reads a saved anatomy: its folder or its file.
func Load(path string) (*Anatomy, error) {
	if filepath.Base(path) != jsonFile {
		path = filepath.Join(path, jsonFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("loading an anatomy: %w", err)
	}
	a := &Anatomy{}
	if err := json.Unmarshal(data, a); err != nil {
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	if a.Schema != schema {
		return nil, fmt.Errorf("loading %s: its schema is %q, this version reads %q", path, a.Schema, schema)
	}
	return a, nil
}
