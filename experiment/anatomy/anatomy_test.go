package anatomy_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/experiment/anatomy"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/effect"
	"github.com/xdsbench/xdsbench/result/observed"
	"github.com/xdsbench/xdsbench/result/rows"
)

func base(t *testing.T) *profiles.Profile {
	t.Helper()
	p, err := profiles.Load("anatomy", nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// made is the result of a run in which each kind was made and cost the same.
func made(p *profiles.Profile) *result.Result {
	r := &result.Result{
		Mutations:    &result.Mutations{Effects: make(map[string]*effect.Kind)},
		Proxies:      &result.Proxies{ByVariant: map[string]int{"sotw": 4, "delta": 4}, ByKind: map[string]*effect.Proxies{"sidecar": {Count: 8, Ready: 8}}},
		ControlPlane: &observed.ControlPlane{Kind: "embedded", Idle: observed.NewIdle(4, 0.04, nil, nil)},
	}
	for _, entry := range p.Churn {
		e := func(bytes int64) *effect.Effect {
			e := &effect.Effect{ProxiesReached: 4, P50: new(0.1), Last: new(0.11)}
			e.Add("eds", effect.Sent{Responses: 12, Resources: 12, Bytes: bytes}, 600, 0)
			return e
		}
		r.Mutations.Applied += entry.Count
		r.Mutations.Effects[entry.Kind] = &effect.Kind{
			Applied: entry.Count, Operations: entry.Count, Effect: *e(2400),
			ByVariant: map[string]*effect.Effect{"sotw": e(1200), "delta": e(1500)},
			Cost:      &effect.Cost{WallSeconds: 4, NetCPUSeconds: new(0.03), NetAllocatedBytes: new(3e6)},
		}
		for i := range entry.Count {
			r.MutationRows = append(r.MutationRows, rows.Mutation{Kind: entry.Kind, Sampled: true, Last: 0.11 - float64(i)/1000, Undelivered: 1})
		}
	}
	return r
}

// run makes an anatomy whose run gives a result.
func run(t *testing.T, kinds []string, give func(*profiles.Profile) (*result.Result, error)) (*anatomy.Anatomy, string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	a, err := anatomy.Run(t.Context(), anatomy.Config{
		Profile: base(t), Kinds: kinds, Repeat: 3, Dir: dir,
		Run: func(_ context.Context, p *profiles.Profile, _ string, _ func(harness.Status)) (*result.Result, error) {
			return give(p)
		},
	})
	return a, dir, err
}

func TestEachKindHasAWindowOfItsOwn(t *testing.T) {
	t.Parallel()
	kinds := []string{churn.PodAdd, churn.PodDelete, churn.ReadinessFlap}
	a, _, err := run(t, kinds, func(p *profiles.Profile) (*result.Result, error) {
		for i, entry := range p.Churn {
			if entry.Count != 3 || i > 0 && entry.Start.Duration < p.Churn[i-1].Start.Duration+p.Churn[i-1].For.Duration {
				t.Errorf("entry %d: %+v overlaps the one before, or is not made 3 times", i, entry)
			}
		}
		if last := p.Churn[len(p.Churn)-1]; p.Phases.Steady.Duration <= last.Start.Duration+last.For.Duration {
			t.Errorf("steady load of %s leaves the last window no rest", p.Phases.Steady.Duration)
		}
		return made(p), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range a.Kinds {
		names = append(names, k.Name)
	}
	if diff := cmp.Diff(kinds, names); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if k := a.Kinds[0]; k.Undelivered != 3 || !slices.IsSorted(k.Lasts) || len(k.Lasts) != 3 {
		t.Errorf("%d undelivered and last proxies %v, want 3 and three in order", k.Undelivered, k.Lasts)
	}
}

func TestEveryKindIsMadeOrSaidWhyNot(t *testing.T) {
	t.Parallel()
	a, _, err := run(t, nil, func(p *profiles.Profile) (*result.Result, error) {
		r := made(p)
		delete(r.Mutations.Effects, churn.PodAdd) // planned, but nothing was there to change
		return r, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(a.Kinds) + len(a.Skipped); n != len(churn.Kinds()) {
		t.Errorf("%d kinds made or skipped, want all %d", n, len(churn.Kinds()))
	}
	if !slices.ContainsFunc(a.Skipped, func(s anatomy.Skipped) bool { return s.Kind == churn.PodAdd && s.Reason != "" }) {
		t.Errorf("skipped %v: not what could not be planned", a.Skipped)
	}
}

func TestUnknownKindsAreAllNamed(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, []string{"pod-ad", "pod-delet"}, nil)
	if !errors.Is(err, harness.ErrInvalid) || !strings.Contains(err.Error(), `"pod-ad"`) || !strings.Contains(err.Error(), `"pod-delet"`) {
		t.Errorf("error %v, want one that names both", err)
	}
}

func TestInterruptedAnatomyIsSavedWithWhatWasMade(t *testing.T) {
	t.Parallel()
	a, dir, err := run(t, []string{churn.PodAdd, churn.PodDelete}, func(p *profiles.Profile) (*result.Result, error) {
		r := made(p)
		r.Partial = true
		delete(r.Mutations.Effects, churn.PodDelete)
		return r, context.Canceled
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the interrupt", err)
	}
	saved, err := anatomy.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, saved); diff != "" {
		t.Errorf("loaded (-made +loaded):\n%s", diff)
	}
	if !saved.Partial || len(saved.Kinds) != 1 || !anatomy.Is(dir) {
		t.Errorf("%+v is not the part that was made", saved)
	}
}

func TestDocumentHasBothVariantsBesideEachOther(t *testing.T) {
	t.Parallel()
	a, _, err := run(t, []string{churn.PodAdd}, func(p *profiles.Profile) (*result.Result, error) { return made(p), nil })
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := a.Document("").Text(&text, doc.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"400 B / 500 B", "10 ms", "1 MB", "no"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in the table:\n%s", want, text.String())
		}
	}
}

func TestCompareShowsWhatDiffersBeyondNoise(t *testing.T) {
	t.Parallel()
	kinds := []string{churn.PodAdd, churn.PodDelete}
	make2 := func(change func(r *result.Result)) *anatomy.Anatomy {
		a, _, err := run(t, kinds, func(p *profiles.Profile) (*result.Result, error) {
			r := made(p)
			change(r)
			return r, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	old := make2(func(*result.Result) {})
	if c := anatomy.Compare(old, make2(func(r *result.Result) {
		k := r.Mutations.Effects[churn.PodAdd]
		k.Cost.NetCPUSeconds = new(0.036) // 2 ms per change
		k.Last = new(0.112)
	})); len(c.Differences) > 0 {
		t.Errorf("noise is called a difference: %+v", c.Differences)
	}
	c := anatomy.Compare(old, make2(func(r *result.Result) {
		k := r.Mutations.Effects[churn.PodAdd]
		k.ByVariant["delta"].Add("cds", effect.Sent{Responses: 3, Resources: 30, Bytes: 9000}, 10, 0)
		k.ByVariant["delta"].FullShare = 1
		k.Cost.NetCPUSeconds = new(0.3)
		k.Last = new(0.5)
		for i := range r.MutationRows[:3] {
			r.MutationRows[i].Last, r.MutationRows[i].Undelivered = 0.5, 0
		}
	}))
	var figures []string
	for _, d := range c.Differences {
		if d.Kind != churn.PodAdd {
			t.Errorf("%+v, but the kind did not change", d)
		}
		figures = append(figures, d.Figure)
	}
	want := []string{"delta types", "delta full", "delta responses", "delta resources", "delta bytes", "CPU", "last proxy", "undelivered"}
	if diff := cmp.Diff(want, figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}
