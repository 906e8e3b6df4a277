package pages

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/kindred-ml/kindred/internal/app/experiments/theory/noise"
	"github.com/kindred-ml/kindred/internal/page/figure"
)

// NoiseOptions are the settings of kindred theory noise.
type NoiseOptions struct {
	Classes  int // default 2
	PerClass int // default 6
	Dim      int // default 2
	Restarts int // default 4
	Draws    int // labellings drawn for the check; default 4000
	Seed     uint64
}

// NoiseMinimum is the best minimum found for one loss and one p.
type NoiseMinimum struct {
	Loss     string  `json:"loss"`
	P        float64 `json:"p"`
	Value    float64 `json:"value"`
	Diameter float64 `json:"diameter"` // widest class, in margins
	Groups   []int   `json:"groups"`   // per class, joined within half a margin
	Drawn    float64 `json:"monte_carlo"`
	StdErr   float64 `json:"stderr"`
}

// FirstN is the smallest number of points from which two modes cost less.
type FirstN struct {
	Classes int     `json:"classes"`
	P       float64 `json:"p"`
	Triplet int     `json:"triplet"` // 0: not up to the limit
	Margin  int     `json:"margin"`
	Rank    int     `json:"claim3_rank"` // -1: none
}

// NoiseCase is one of the conditions the paper leaves unstated.
type NoiseCase struct {
	Case     string  `json:"case"`
	Value    float64 `json:"value"`
	Diameter float64 `json:"diameter"`
	Says     string  `json:"says"`
}

// NoiseResult is what kindred theory noise --json prints.
type NoiseResult struct {
	Output
	Classes  int            `json:"classes"`
	PerClass int            `json:"per_class"`
	Dim      int            `json:"dim"`
	Minima   []NoiseMinimum `json:"minima"`
	First    []FirstN       `json:"first_n"`
	Cases    []NoiseCase    `json:"conditions"`
	// WorstZ is the largest distance, in standard errors, of a drawn mean from
	// the exact expectation.
	WorstZ float64 `json:"worst_z"`
}

var (
	noiseLosses = []noise.Loss{
		{}, {Kind: noise.Margin}, {Kind: noise.Contrastive},
		{Easy: true}, {Kind: noise.Margin, Easy: true}, {Kind: noise.Contrastive, Easy: true},
	}
	noiseP     = []float64{0.55, 0.65, 0.75, 0.85, 0.95, 1}
	firstNP    = []float64{0.55, 0.65, 0.75, 0.85, 0.95, 0.99}
	firstNT    = []int{2, 3, 5, 10}
	firstNMost = 3000 // points of a class up to which the first n is sought
)

// Noise computes and writes everything of kindred theory noise. Once ctx is done it
// returns ctx.Err(), wrapped.
func Noise(ctx context.Context, o NoiseOptions, dir string, progress Progress) (*NoiseResult, error) {
	start := time.Now()
	o.Classes = cmp.Or(o.Classes, 2)
	o.PerClass = cmp.Or(o.PerClass, 6)
	o.Dim = cmp.Or(o.Dim, 2)
	o.Restarts = cmp.Or(o.Restarts, 4)
	o.Draws = cmp.Or(o.Draws, 4000)
	if _, err := noise.Balanced(o.Classes, o.PerClass, 0.5); err != nil {
		return nil, err
	}
	out, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	r := &NoiseResult{Classes: o.Classes, PerClass: o.PerClass, Dim: o.Dim}
	total := len(noiseLosses)*len(noiseP) + len(firstNT)*len(firstNP) + 6
	done := 0
	tick := func(stage string) error {
		done++
		progress(stage, done, total)
		return stageError(ctx, stage)
	}
	var pictures []figure.Figure
	for _, l := range noiseLosses {
		for _, p := range noiseP {
			m, _ := noise.Balanced(o.Classes, o.PerClass, p)
			found, err := noise.Minimise(ctx, m, l, noise.Search{Dim: o.Dim, Restarts: o.Restarts, Seed: o.Seed})
			if err != nil {
				return nil, err
			}
			best := found[0]
			for _, f := range found[1:] { // of equally good ones the widest
				if f.Value < found[0].Value+1e-9 && f.Widest() > best.Widest() {
					best = f
				}
			}
			mean, se, err := noise.MonteCarlo(ctx, m, l, best.Distances, best.Beta, o.Draws, o.Seed)
			if err != nil {
				return nil, err
			}
			if se > 0 {
				r.WorstZ = max(r.WorstZ, math.Abs(mean-best.Value)/se)
			}
			r.Minima = append(r.Minima,
				NoiseMinimum{l.String(), p, best.Value, best.Widest(), noise.Modes(m, best.Distances, 0.5), mean, se})
			if p == 0.85 && l.Kind != noise.Contrastive && o.Dim == 2 {
				pictures = append(pictures, arrangementFigure(m, best.Points, fmt.Sprintf("%s, p = %g", l, p)))
			}
			if err := tick("minimising"); err != nil {
				return nil, err
			}
		}
	}
	gap, err := noiseFirst(ctx, r, tick)
	if err != nil {
		return nil, err
	}
	if err := noiseCases(ctx, r, o, tick); err != nil {
		return nil, err
	}
	if err := noiseWrite(out, r, o, pictures, gap); err != nil {
		return nil, err
	}
	r.Output = Output{dir, out.files, o.Seed, time.Since(start).Seconds()}
	return r, nil
}

// noiseFirst fills in the table of claims 1 to 3 and returns the curves of the
// gap against n.
func noiseFirst(ctx context.Context, r *NoiseResult, tick func(string) error) ([]figure.Curve, error) {
	var curves []figure.Curve
	for _, t := range firstNT {
		for _, p := range firstNP {
			triplet, err := noise.CompareModes(ctx, noise.Loss{Easy: true}, t, firstNMost, p, 0, 0)
			if err != nil {
				return nil, err
			}
			margin, err := noise.CompareModes(ctx, noise.Loss{Kind: noise.Margin, Easy: true}, t, 400, p, 0, 1)
			if err != nil {
				return nil, err
			}
			r.First = append(r.First, FirstN{t, p, noise.FirstPreferred(triplet), noise.FirstPreferred(margin),
				noise.MarginRank(t, p, 5000)})
			if (t == 2 || t == 5) && (p == 0.55 || p == 0.75 || p == 0.95) {
				c := figure.Curve{Name: fmt.Sprintf("t = %d, p = %g", t, p)}
				for _, v := range triplet[:150] {
					c.X, c.Y = append(c.X, float64(v.N)), append(c.Y, v.Gap()/float64(v.N))
				}
				curves = append(curves, c)
			}
			if err := tick("claims"); err != nil {
				return nil, err
			}
		}
	}
	return curves, nil
}

// noiseCases shows each unstated condition with and without it.
func noiseCases(ctx context.Context, r *NoiseResult, o NoiseOptions, tick func(string) error) error {
	for _, c := range []struct {
		name, says string
		t, s       int
		p          float64
		l          noise.Loss
		search     noise.Search
	}{
		{"triplet, 6 points in 2 dimensions", "collapses", 2, 3, 0.8, noise.Loss{}, noise.Search{Dim: 2}},
		{"triplet, 6 points in 5 dimensions", "wide at the same cost: with n - 1 dimensions a class can be a simplex " +
			"of any size", 2, 3, 0.8, noise.Loss{}, noise.Search{Dim: 5}},
		{"contrastive, 4 classes, p = 0.6", "pushed apart: two points of a class agree less often than not", 4, 3, 0.6,
			noise.Loss{Kind: noise.Contrastive}, noise.Search{Dim: 11}},
		{"contrastive, 4 classes, p = 0.8", "collapses: they agree more often than not", 4, 3, 0.8,
			noise.Loss{Kind: noise.Contrastive}, noise.Search{Dim: 11}},
		{"margin, beta held at 1.2, alpha 0.2", "kept at beta - alpha = 1: five margins wide", 2, 2, 0.8,
			noise.Loss{Kind: noise.Margin, Alpha: 0.2}, noise.Search{Dim: 3, Beta: 1.2}},
		{"triplet with self-pairs, 8 points, p = 0.6", "wide: the self-pairs of the paper's sum push", 2, 4, 0.6,
			noise.Loss{Self: true}, noise.Search{Dim: 2}},
	} {
		m, err := noise.Balanced(c.t, c.s, c.p)
		if err != nil {
			return err
		}
		c.search.Seed, c.search.Restarts = o.Seed, 4
		found, err := noise.Minimise(ctx, m, c.l, c.search)
		if err != nil {
			return err
		}
		best := found[0]
		alpha := c.l.Alpha
		alpha = cmp.Or(alpha, 1)
		r.Cases = append(r.Cases, NoiseCase{c.name, best.Value, best.Widest() / alpha, c.says})
		if err := tick("conditions"); err != nil {
			return err
		}
	}
	return nil
}

func arrangementFigure(m noise.Model, p noise.Points, title string) figure.Figure {
	s := figure.Scatter{Axes: figure.Axes{Title: title, Equal: true, Width: 250, Height: 230}, Radius: 3.2}
	for i := range p.N() {
		s.X, s.Y = append(s.X, p.Row(i)[0]), append(s.Y, p.Row(i)[1])
		s.Class = append(s.Class, m.Own[i])
	}
	for c := range m.T {
		s.Names = append(s.Names, fmt.Sprintf("class %d", c+1))
	}
	return s
}

func noiseWrite(out *folder, r *NoiseResult, o NoiseOptions, pictures []figure.Figure, gap []figure.Curve) error {
	diam := figure.Lines{Axes: figure.Axes{X: "p, how often a label is right", Y: "widest class (margins)", Width: 380,
		Height: 300}, Marks: true}
	var rows [][]any
	for i, m := range r.Minima {
		if i%len(noiseP) == 0 {
			diam.Curves = append(diam.Curves, figure.Curve{Name: m.Loss})
		}
		c := &diam.Curves[len(diam.Curves)-1]
		c.X, c.Y = append(c.X, m.P), append(c.Y, m.Diameter)
		rows = append(rows, []any{m.Loss, m.P, m.Value, m.Diameter, fmt.Sprint(m.Groups), m.Drawn, m.StdErr})
	}
	if err := out.table("minima", []string{"loss", "p", "value", "diameter", "groups", "monte_carlo", "stderr"},
		rows); err != nil {
		return err
	}
	modes := figure.Lines{Axes: figure.Axes{X: "n, points in all", Y: "saved by two modes, per point", LogX: true,
		Width: 380, Height: 300}, Curves: gap, Refs: []figure.Ref{{At: 0}}}
	var gaps [][]any
	for _, c := range gap {
		for i := range c.X {
			gaps = append(gaps, []any{c.Name, c.X[i], c.Y[i]})
		}
	}
	if err := out.table("gap", []string{"setting", "n", "saved_per_point"}, gaps); err != nil {
		return err
	}
	far, weights := farFigures()
	var farRows [][]any
	for _, c := range weights.Curves {
		for i := range c.X {
			farRows = append(farRows, []any{c.Name, c.X[i], c.Y[i]})
		}
	}
	if err := out.table("far", []string{"weight", "rank", "value"}, farRows); err != nil {
		return err
	}
	var firsts [][]any
	for _, f := range r.First {
		firsts = append(firsts, []any{f.Classes, f.P, f.Triplet, f.Margin, f.Rank})
	}
	if err := out.table("first_n", []string{"classes", "p", "triplet", "margin", "claim3_rank"}, firsts); err != nil {
		return err
	}
	figs := []struct {
		name string
		fig  figure.Figure
	}{{"diameters", diam}, {"gap", modes}, {"far", far}, {"weights", weights}}
	if len(pictures) > 0 {
		figs = append(figs, struct {
			name string
			fig  figure.Figure
		}{"arrangements", figure.Panels{Figures: pictures, Columns: 2}})
	}
	for _, f := range figs {
		if err := out.figure(f.name, f.fig); err != nil {
			return err
		}
	}
	return out.page(noisePage(r, o, diam, modes, far, weights, pictures))
}

// farFigures draws claim 3 for an anchor whose neighbours are, by distance, 8
// of the other class, then own and other in turn.
func farFigures() (settle, weights figure.Lines) {
	order := make([]int, 24)
	for i := range order {
		if order[i] = 1; i >= 8 {
			order[i] = i % 2
		}
	}
	settle = figure.Lines{Axes: figure.Axes{X: "rank among the anchor's neighbours",
		Y: "distance it settles at (margins)", Width: 380, Height: 260}, Marks: true}
	weights = figure.Lines{Axes: figure.Axes{X: "rank among the anchor's neighbours", Y: "probability", Width: 380,
		Height: 260}, Marks: true}
	for _, p := range []float64{0.7, 0.95} {
		s := figure.Curve{Name: fmt.Sprintf("p = %g", p)}
		pull := figure.Curve{Name: fmt.Sprintf("pull, p = %g", p)}
		push := figure.Curve{Name: fmt.Sprintf("push, p = %g", p), Same: true}
		for _, f := range noise.FarMargin(2, p, 1, 1, order) {
			x := float64(f.Rank)
			s.X, s.Y = append(s.X, x), append(s.Y, f.Settle)
			pull.X, pull.Y = append(pull.X, x), append(pull.Y, f.Pull)
			push.X, push.Y = append(push.X, x), append(push.Y, f.Push)
		}
		settle.Curves = append(settle.Curves, s)
		weights.Curves = append(weights.Curves, pull, push)
	}
	return settle, weights
}
