package pages

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/internal/app/experiments/theory/isometry"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/page/figure"
)

// IsometryOptions are the settings of kindred theory isometry.
type IsometryOptions struct {
	Random     int // sets drawn at random; default 2000
	Searches   int // adversarial searches; default 18
	Steps      int // of each; default 80
	Iterations int // of the descents of the collapse map; default 150
	Seed       uint64
}

// ExtremeSet is a set of points that attains a constant.
type ExtremeSet struct {
	Dim    int       `json:"dim"`
	X      []float64 `json:"x"`
	Class  []int     `json:"class"`
	Loss   float64   `json:"l_hn"`
	Found  float64   `json:"d_iso_found"`
	Lower  float64   `json:"d_iso_lower"`
	Factor float64   `json:"factor"`
}

// IsometryResult is what kindred theory isometry --json prints.
type IsometryResult struct {
	Output
	Sets      int          `json:"sets"`      // with L_HN > 0
	Certified int          `json:"certified"` // bound and found value within 1e-6
	Violation float64      `json:"lower_violation"`
	Smallest  ExtremeSet   `json:"smallest"`
	Largest   []ExtremeSet `json:"largest"` // per dimension
	TwoFar    ExtremeSet   `json:"two_far"`
	// Simplices holds the proven lower bound of the factor for s = 2, 3, ...
	// with far points in every direction; BreaksAt is the first s above 2.
	Simplices []float64           `json:"simplices"`
	BreaksAt  int                 `json:"simplices_break_at"`
	Toy       map[string]float64  `json:"toy"`
	Collapse  []isometry.Collapse `json:"collapse"`
}

var (
	collapseN   = []int{4, 8, 16, 32, 64, 72, 128, 1800}
	collapseDim = []int{2, 4, 8, 16, 32, 64, 128}
)

// toySet is seven points in the plane, neither separated nor hopeless.
func toySet() isometry.Set {
	return isometry.Set{Dim: 2, X: []float64{0, 0, 1.6, 0.4, 0.5, 1.7, 1.3, 1.2, 2.6, 1.9, 2.3, 0.2, 3.3, 1.0},
		Class: []int{0, 0, 0, 1, 1, 1, 1}}
}

// Isometry computes and writes everything of kindred theory isometry. Once ctx is
// done it returns ctx.Err(), wrapped.
func Isometry(ctx context.Context, o IsometryOptions, dir string, progress Progress) (*IsometryResult, error) {
	start := time.Now()
	o.Searches = cmp.Or(o.Searches, 18)
	o.Steps = cmp.Or(o.Steps, 80)
	o.Iterations = cmp.Or(o.Iterations, 150)
	out, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	survey := isometry.Survey{Random: o.Random, Searches: o.Searches, Steps: o.Steps, Seed: o.Seed}
	cells := collapseCells()
	total := survey.Work() + 30*len(cells)
	var mu sync.Mutex
	done := 0
	tick := func(stage string, n int) {
		mu.Lock()
		done += n
		progress(stage, done, total)
		mu.Unlock()
	}
	r := &IsometryResult{}
	trials, err := survey.Run(ctx, func(n int) { tick("sets", n) })
	if err != nil {
		return nil, err
	}
	r.extremes(trials)
	r.Collapse = make([]isometry.Collapse, len(cells))
	failed := make([]error, len(cells))
	err = par.ForContext(ctx, len(cells), 1, func(k, _ int) {
		c := cells[k]
		r.Collapse[k], failed[k] = isometry.CollapseOf(ctx, c.n, c.dim, c.classes, c.iterations(o.Iterations), o.Seed)
		tick("collapse map", 30)
	})
	if err = cmp.Or(append(failed, err)...); err != nil {
		return nil, fmt.Errorf("the collapse map: %w", err)
	}
	far := isometry.TwoFar(20)
	v, _, err := isometry.Line(ctx, far)
	if err != nil {
		return nil, err
	}
	l, _ := isometry.Hardest(far.Distances(), far.Class)
	r.TwoFar = ExtremeSet{1, far.X, far.Class, l, v, v, v / l}
	for s := 2; s <= 64; s++ {
		b := isometry.SimplicesFactor(s, 1)
		r.Simplices = append(r.Simplices, b)
		if b > 2 && r.BreaksAt == 0 {
			r.BreaksAt = s
		}
	}
	if err := isometryWrite(ctx, out, r, trials, o); err != nil {
		return nil, err
	}
	r.Output = Output{dir, out.files, o.Seed, time.Since(start).Seconds()}
	return r, nil
}

type collapseCell struct{ n, dim, classes int }

// iterations is how long a cell is refined: thousands of points are only
// contracted and drawn apart.
func (c collapseCell) iterations(most int) int {
	if c.n > 600 {
		return 0
	}
	return most
}

// collapseCells lists the map: two classes, and the paper's two cases with
// the batches their sources report, 18 people of 4 pictures and 45 of 40.
func collapseCells() []collapseCell {
	out := []collapseCell{{1800, 128, 45}, {72, 128, 18}} // the long ones first
	for i := len(collapseN) - 1; i >= 0; i-- {
		for _, d := range collapseDim {
			if n := collapseN[i]; n != 72 && n != 1800 {
				out = append(out, collapseCell{n, d, 2})
			}
		}
	}
	return out
}

func newExtremeSet(t isometry.Trial) ExtremeSet {
	return ExtremeSet{t.F.Dim, t.F.X, t.F.Class, t.Loss, t.Found, t.Lower, t.Factor()}
}

func (r *IsometryResult) extremes(trials []isometry.Trial) {
	low, _, violation := isometry.Extremes(trials)
	r.Smallest, r.Violation = newExtremeSet(low), violation
	for dim := 1; dim <= 4; dim++ {
		var of []isometry.Trial
		for _, t := range trials {
			if t.F.Dim == dim {
				of = append(of, t)
			}
		}
		if _, high, _ := isometry.Extremes(of); high.Loss > 0 {
			r.Largest = append(r.Largest, newExtremeSet(high))
		}
	}
	for _, t := range trials {
		if t.Loss > 0 {
			r.Sets++
			if t.Found-t.Lower < 1e-6*max(1, t.Found) {
				r.Certified++
			}
		}
	}
}

func isometryWrite(ctx context.Context, out *folder, r *IsometryResult, trials []isometry.Trial,
	o IsometryOptions) error {
	var rows [][]any
	for _, t := range trials {
		rows = append(rows, []any{t.F.Dim, t.F.N(), t.Searched, t.Loss, t.Found, t.Lower, t.Factor(), fmt.Sprint(t.F.X),
			fmt.Sprint(t.F.Class)})
	}
	if err := out.table("sets", []string{"dim", "points", "searched", "l_hn", "d_iso_found", "d_iso_lower", "factor",
		"x", "class"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, c := range r.Collapse {
		rows = append(rows, []any{c.N, c.Dim, c.Classes, c.Error, c.Lower, c.Ratio, c.AtLeast, c.Own})
	}
	if err := out.table("collapse", []string{"points", "dim", "classes", "error", "lower", "diameter_ratio",
		"diameter_ratio_at_least", "class_ratio"}, rows); err != nil {
		return err
	}
	rows = nil
	for i, b := range r.Simplices {
		s := i + 2
		rows = append(rows, []any{s, 2*s - 2, b, isometry.SimplicesFactor(s, 0.9), isometry.SimplicesFactor(s, 0.5)})
	}
	if err := out.table("simplices",
		[]string{"s", "dim", "factor_every_direction", "factor_cover_0.9", "factor_cover_0.5"}, rows); err != nil {
		return err
	}
	toy, moves, err := r.toyFigure(ctx, o.Seed)
	if err != nil {
		return err
	}
	if err := out.table("toy", []string{"arrangement", "point", "class", "x", "y"}, moves); err != nil {
		return err
	}
	factors, curve, maps := factorFigure(trials), simplicesFigure(r), collapseFigure(r)
	for _, f := range []struct {
		name string
		fig  figure.Figure
	}{{"toy", toy}, {"factors", factors}, {"simplices", curve}, {"collapse", maps}} {
		if err := out.figure(f.name, f.fig); err != nil {
			return err
		}
	}
	return out.page(isometryPage(r, toy, factors, curve, maps))
}

// toyFigure draws the toy set, its hardest triplet, and how its points move to
// the nearest TS arrangement in both senses.
func (r *IsometryResult) toyFigure(ctx context.Context, seed uint64) (figure.Figure, [][]any, error) {
	f := toySet()
	d := f.Distances()
	iso, err := isometry.NearestTS(ctx, f, isometry.Options{Seed: seed, Starts: 12})
	if err != nil {
		return nil, nil, err
	}
	haus, err := isometry.NearestHaus(ctx, f, isometry.Options{Seed: seed})
	if err != nil {
		return nil, nil, err
	}
	g := alignTo(f, iso.G)
	h, _, _, _ := isometry.HausdorffDistance(f, haus.G)
	fh, _, _, _ := isometry.HausdorffDistance(f, g)
	hi, _, _ := isometry.IsometryDistance(d, haus.G.Distances())
	r.Toy = map[string]float64{"l_hn": iso.Loss, "d_iso": iso.Found, "d_iso_lower": iso.Lower, "d_haus": h,
		"d_haus_lower": haus.Lower, "d_haus_of_d_iso's": fh, "d_iso_of_d_haus's": hi}
	axes := func(title string) figure.Axes {
		return figure.Axes{Title: title, Equal: true, Width: 330, Height: 290,
			XRange: figure.Range{Min: -0.8, Max: 4.1}, YRange: figure.Range{Min: -0.9, Max: 2.8}}
	}
	names := []string{"class 1", "class 2"}
	points := figure.Scatter{Axes: axes("the points f"), Names: names, Radius: 4}
	for i := range f.N() {
		points.X, points.Y, points.Class = append(points.X, f.Row(i)[0]), append(points.Y, f.Row(i)[1]),
			append(points.Class, f.Class[i])
	}
	t := iso.Hard
	a, p, n := f.Row(t.Anchor), f.Row(t.Positive), f.Row(t.Negative)
	hard := figure.Field{Axes: axes(fmt.Sprintf("hardest triplet, L_HN = %.3f", iso.Loss)),
		Names: []string{"anchor to positive", "anchor to negative"},
		Arrows: []figure.Arrow{{X: a[0], Y: a[1], U: p[0] - a[0], V: p[1] - a[1], Class: 0},
			{X: a[0], Y: a[1], U: n[0] - a[0], V: n[1] - a[1], Class: 1}}}
	move := func(title string, g isometry.Set) figure.Figure {
		q := figure.Field{Axes: axes(title), Names: names}
		for i := range f.N() {
			q.Arrows = append(q.Arrows, figure.Arrow{X: f.Row(i)[0], Y: f.Row(i)[1], U: g.Row(i)[0] - f.Row(i)[0],
				V: g.Row(i)[1] - f.Row(i)[1], Class: f.Class[i]})
		}
		return q
	}
	var rows [][]any
	for _, s := range []struct {
		name string
		set  isometry.Set
	}{{"f", f}, {"nearest in d_iso", g}, {"nearest in d_haus", haus.G}} {
		for i := range f.N() {
			rows = append(rows, []any{s.name, i, f.Class[i], s.set.Row(i)[0], s.set.Row(i)[1]})
		}
	}
	return figure.Panels{Columns: 2, Figures: []figure.Figure{points, hard,
		move(fmt.Sprintf("to the nearest in d_iso, %.3f", iso.Found), g),
		move(fmt.Sprintf("to the nearest in d_haus, %.3f", h), haus.G)}}, rows, nil
}

// alignTo turns, mirrors and shifts g in the plane onto f as well as it can
// (least squares): d_iso does not see such moves, the eye does.
func alignTo(f, g isometry.Set) isometry.Set {
	n := float64(f.N())
	centre := func(s isometry.Set) (x, y float64) {
		for i := range s.N() {
			x += s.Row(i)[0] / n
			y += s.Row(i)[1] / n
		}
		return x, y
	}
	fx, fy := centre(f)
	gx, gy := centre(g)
	best, bestX := math.Inf(1), g.X
	for _, mirror := range []float64{1, -1} {
		var c, s float64
		for i := range f.N() {
			a, b := g.Row(i)[0]-gx, mirror*(g.Row(i)[1]-gy)
			u, v := f.Row(i)[0]-fx, f.Row(i)[1]-fy
			c += a*u + b*v
			s += a*v - b*u
		}
		k := math.Hypot(c, s)
		if k == 0 {
			continue
		}
		c, s = c/k, s/k
		x := make([]float64, len(g.X))
		sum := 0.0
		for i := range f.N() {
			a, b := g.Row(i)[0]-gx, mirror*(g.Row(i)[1]-gy)
			x[2*i], x[2*i+1] = fx+c*a-s*b, fy+s*a+c*b
			sum += math.Pow(x[2*i]-f.Row(i)[0], 2) + math.Pow(x[2*i+1]-f.Row(i)[1], 2)
		}
		if sum < best {
			best, bestX = sum, x
		}
	}
	return g.With(2, bestX)
}

// factorFigure counts factors, by dimension.
func factorFigure(trials []isometry.Trial) figure.Figure {
	const lo, hi, bins = 0.5, 1.6, 22
	b := figure.Bars{Axes: figure.Axes{X: "d_iso(f, TS) / L_HN, as found (lower end of the bin)",
		Y: "share of the sets", Width: 380, Height: 270}}
	for k := range bins {
		b.Groups = append(b.Groups, fmt.Sprintf("%.2f", lo+(hi-lo)*float64(k)/bins))
	}
	for dim := 1; dim <= 4; dim++ {
		v := make([]float64, bins)
		n := 0.0
		for _, t := range trials {
			if t.F.Dim == dim && t.Loss > 0 {
				k := int((t.Factor() + 1e-6 - lo) / (hi - lo) * bins)
				v[min(max(k, 0), bins-1)]++
				n++
			}
		}
		for k := range v {
			v[k] /= max(n, 1)
		}
		b.Series, b.Values = append(b.Series, fmt.Sprintf("%d-dimensional", dim)), append(b.Values, v)
	}
	return b
}

func simplicesFigure(r *IsometryResult) figure.Figure {
	l := figure.Lines{Axes: figure.Axes{X: "s, points of each simplex (2s - 2 dimensions)",
		Y: "d_iso / L_HN is at least", Width: 380, Height: 280},
		Refs: []figure.Ref{{Name: "theorem 3: at most 2", At: 2}}}
	for _, cover := range []float64{1, 0.9, 0.5} {
		c := figure.Curve{Name: fmt.Sprintf("far points within %.0f° of every direction", math.Acos(cover)*180/math.Pi)}
		for i := range r.Simplices {
			c.X, c.Y = append(c.X, float64(i+2)), append(c.Y, isometry.SimplicesFactor(i+2, cover))
		}
		l.Curves = append(l.Curves, c)
	}
	return l
}

func collapseFigure(r *IsometryResult) figure.Figure {
	panel := func(title string, get func(isometry.Collapse) float64) figure.Figure {
		h := figure.Heat{Axes: figure.Axes{Title: title, X: "points N", Y: "dimensions", Width: 380, Height: 280},
			Scale: figure.Range{Min: 0, Max: 1.1}, Numbers: 2}
		for _, n := range collapseN {
			name := fmt.Sprint(n)
			if n == 72 || n == 1800 {
				name += "*"
			}
			h.Cols = append(h.Cols, name)
		}
		for _, d := range collapseDim {
			h.Rows = append(h.Rows, fmt.Sprint(d))
			row := make([]float64, len(collapseN))
			for i, n := range collapseN {
				row[i] = math.NaN()
				for _, c := range r.Collapse {
					if c.N == n && c.Dim == d {
						row[i] = get(c)
					}
				}
			}
			h.Z = append(h.Z, row)
		}
		return h
	}
	return figure.Panels{Columns: 2, Figures: []figure.Figure{
		panel("diameter of g / diameter of f, found", func(c isometry.Collapse) float64 { return c.Ratio }),
		panel("the same, at least (certified)", func(c isometry.Collapse) float64 { return c.AtLeast }),
		panel("distances within classes, g / f", func(c isometry.Collapse) float64 { return c.Own }),
		panel("d_iso / diameter of f, found", func(c isometry.Collapse) float64 { return c.Error }),
	}}
}
