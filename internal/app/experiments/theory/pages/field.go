package pages

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/app/experiments/theory/field"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/objective"
)

// FieldOptions are the settings of kindred theory field.
type FieldOptions struct {
	// Losses are names: first, second, vanilla, or any loss of package
	// objective that reads triplets or pairs of samples. Default: the first
	// three.
	Losses   []string
	Gammas   []float64 // default 0.2, 0.5, 0.8
	Entangle []float64 // default 0, 0.4, 0.8
	Config   field.Config
	Grid     int // cells a side; default 200
	Seed     uint64
}

// FieldShare is how much of the square moves the wrong way.
type FieldShare struct {
	Loss     string       `json:"loss"`
	Gamma    float64      `json:"gamma"`
	Entangle float64      `json:"p"`
	All      field.Shares `json:"square"`
	Corner   field.Shares `json:"corner"`
}

// FieldResult is what kindred theory field --json prints.
type FieldResult struct {
	Output
	Rate    float64      `json:"rate"`
	Rule    string       `json:"q"`
	Tangent bool         `json:"through_normalisation"`
	Shares  []FieldShare `json:"shares"`
}

const cornerFrom = 0.8

// FieldLoss returns the loss of that name.
func FieldLoss(name string) (field.Loss, error) {
	switch name {
	case "first":
		return field.FirstOrder(), nil
	case "second":
		return field.SecondOrder(), nil
	case "vanilla":
		return field.Vanilla(), nil
	}
	o, err := objective.Parse(nil, map[string]any{"name": name})
	if err != nil {
		return field.Loss{}, fmt.Errorf("%w; and first, second, vanilla as in the paper's figures", err)
	}
	return field.FromLoss(name, o.Loss)
}

// Field computes and writes everything of kindred theory field. Once ctx is done it
// returns ctx.Err(), wrapped.
func Field(ctx context.Context, o FieldOptions, dir string, progress Progress) (*FieldResult, error) {
	start := time.Now()
	o.setDefaults()
	var losses []field.Loss
	for _, name := range o.Losses {
		l, err := FieldLoss(name)
		if err != nil {
			return nil, err
		}
		losses = append(losses, l)
	}
	out, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	total, done := len(losses)*(len(o.Gammas)*len(o.Entangle)+2), 0
	d := fieldDrawing{o: o, out: out, tick: func(stage string) error {
		done++
		progress(stage, done, total)
		return stageError(ctx, stage)
	}}
	r := &d.result
	*r = FieldResult{Rate: o.Config.Rate, Rule: o.Config.Rule.String(), Tangent: o.Config.Tangent}
	for _, l := range losses {
		if err := d.loss(ctx, l); err != nil {
			return nil, err
		}
	}
	if err := out.table("maps", []string{"loss", "gamma", "p", "s_ap", "s_an", "change_ap", "change_an"},
		d.mapRows); err != nil {
		return nil, err
	}
	head := []string{"loss", "gamma", "p"}
	for _, part := range []string{"square", "corner"} {
		for _, k := range []string{"s_ap_falls", "s_an_rises", "both", "to_1_1", "worse"} {
			head = append(head, part+"_"+k)
		}
	}
	if err := out.table("shares", head, d.shareRows); err != nil {
		return nil, err
	}
	if err := out.figure("shares", sharesFigure(r, o)); err != nil {
		return nil, err
	}
	if err := out.page(fieldPage(r, o, d.maps, d.fields)); err != nil {
		return nil, err
	}
	r.Output = Output{dir, out.files, o.Seed, time.Since(start).Seconds()}
	return r, nil
}

// setDefaults sets what was left to the defaults.
func (o *FieldOptions) setDefaults() {
	if len(o.Losses) == 0 {
		o.Losses = []string{"first", "second", "vanilla"}
	}
	if len(o.Gammas) == 0 {
		o.Gammas = []float64{0.2, 0.5, 0.8}
	}
	if len(o.Entangle) == 0 {
		o.Entangle = []float64{0, 0.4, 0.8}
	}
	o.Grid = cmp.Or(o.Grid, 200)
	o.Config.Rate = cmp.Or(o.Config.Rate, 0.1)
}

// fieldDrawing is what Field has drawn so far.
type fieldDrawing struct {
	o      FieldOptions
	out    *folder
	tick   func(stage string) error
	result FieldResult

	mapRows, shareRows [][]any
	maps, fields       []report.Captioned
}

// loss draws the maps and the vector fields of a loss.
func (d *fieldDrawing) loss(ctx context.Context, l field.Loss) error {
	var heat, arrows []figure.Figure
	for _, g := range d.o.Gammas {
		var up, side []figure.Figure
		for _, p := range d.o.Entangle {
			c := d.o.Config
			c.Gamma, c.Entangle = g, p
			coarse, err := d.measure(ctx, l, c)
			if err != nil {
				return err
			}
			side = append(side, heatMap(fmt.Sprintf("S_ap, γ %g, p %g", g, p), coarse, coarse.AP))
			up = append(up, heatMap(fmt.Sprintf("S_an, γ %g, p %g", g, p), coarse, coarse.AN))
			v, err := vectorFigure(ctx, fmt.Sprintf("%s, γ %g, p %g", l.Name, g, p), l, c)
			if err != nil {
				return err
			}
			arrows = append(arrows, v)
			if err := d.tick("maps"); err != nil {
				return err
			}
		}
		heat = append(append(heat, side...), up...)
	}
	slug := strings.ReplaceAll(l.Name, " ", "-")
	hp := figure.Panels{Title: l.Name + ": change of S_ap (left) and S_an (right) in one step", Figures: heat,
		Columns: 2 * len(d.o.Entangle)}
	fp := figure.Panels{Figures: arrows, Columns: len(d.o.Entangle)}
	for _, f := range []struct {
		name string
		fig  figure.Figure
	}{{"maps-" + slug, hp}, {"field-" + slug, fp}} {
		if err := d.out.figure(f.name, f.fig); err != nil {
			return err
		}
		if err := d.tick("drawing"); err != nil {
			return err
		}
	}
	d.maps = append(d.maps, report.Captioned{Figure: hp, Caption: l.Name})
	d.fields = append(d.fields, report.Captioned{Figure: fp, Caption: l.Name})
	return nil
}

// measure adds the shares of the square in which a step moves the wrong way, from
// a fine map, and returns a coarse one to draw.
func (d *fieldDrawing) measure(ctx context.Context, l field.Loss, c field.Config) (field.Grid, error) {
	fine, err := field.Map(ctx, l, c, 0, d.o.Grid)
	if err != nil {
		return field.Grid{}, err
	}
	s := FieldShare{l.Name, c.Gamma, c.Entangle, fine.Shares(0), fine.Shares(cornerFrom)}
	d.result.Shares = append(d.result.Shares, s)
	d.shareRows = append(d.shareRows, []any{l.Name, c.Gamma, c.Entangle,
		s.All.PositiveAway, s.All.NegativeNear, s.All.Both, s.All.ToCorner, s.All.Worse,
		s.Corner.PositiveAway, s.Corner.NegativeNear, s.Corner.Both, s.Corner.ToCorner, s.Corner.Worse})
	coarse, err := field.Map(ctx, l, c, 0, 50)
	if err != nil {
		return field.Grid{}, err
	}
	for y := range coarse.N {
		for x := range coarse.N {
			d.mapRows = append(d.mapRows, []any{l.Name, c.Gamma, c.Entangle, coarse.Centre(x), coarse.Centre(y),
				coarse.AP[y][x], coarse.AN[y][x]})
		}
	}
	return coarse, nil
}

func heatMap(title string, g field.Grid, z [][]float64) figure.Figure {
	return figure.Heat{Axes: figure.Axes{Title: title, XRange: figure.Range{Min: g.Lo, Max: 1},
		YRange: figure.Range{Min: g.Lo, Max: 1}, Width: 170, Height: 150}, Z: z, Diverging: true, Numbers: -1,
		Diagonal: true}
}

// directions names the four ways a triplet can move, the right one first; see
// direction.
var directions = []string{"right: S_ap up, S_an down", "both fall", "both rise", "wrong: S_ap down, S_an up"}

func direction(u, v float64) int {
	switch {
	case u > 0 && v <= 0:
		return 0
	case u <= 0 && v <= 0:
		return 1
	case u > 0:
		return 2
	}
	return 3
}

// fieldArrows are the steps at the cells of [lo, 1]².
func fieldArrows(ctx context.Context, l field.Loss, c field.Config, lo float64, cells int) ([]figure.Arrow, error) {
	m, err := field.Map(ctx, l, c, lo, cells)
	if err != nil {
		return nil, err
	}
	var a []figure.Arrow
	for y := range m.N {
		for x := range m.N {
			u, v := m.AP[y][x], m.AN[y][x]
			a = append(a, figure.Arrow{X: m.Centre(x), Y: m.Centre(y), U: u, V: v, Class: direction(u, v)})
		}
	}
	return figure.FitArrows(a, 0.95*(1-lo)/float64(cells), 0.4), nil
}

func vectorFigure(ctx context.Context, title string, l field.Loss, c field.Config) (figure.Figure, error) {
	arrows, err := fieldArrows(ctx, l, c, 0, 16)
	return figure.Field{Axes: figure.Axes{Title: title, X: "S_ap", Y: "S_an", Equal: true,
		XRange: figure.Range{Min: 0, Max: 1}, YRange: figure.Range{Min: 0, Max: 1}, Width: 300, Height: 330},
		Arrows: arrows, Names: directions, Diagonal: true}, err
}

func sharesFigure(r *FieldResult, o FieldOptions) figure.Figure {
	panel := func(title string, get func(FieldShare) float64) figure.Figure {
		b := figure.Bars{Axes: figure.Axes{Title: title, Y: "share", Width: 380, Height: 260,
			YRange: figure.Range{Min: 0, Max: 1}}}
		for _, g := range o.Gammas {
			for _, p := range o.Entangle {
				b.Groups = append(b.Groups, fmt.Sprintf("γ%g p%g", g, p))
			}
		}
		for i, s := range r.Shares {
			if i%len(b.Groups) == 0 {
				b.Series = append(b.Series, s.Loss)
				b.Values = append(b.Values, nil)
			}
			k := len(b.Values) - 1
			b.Values[k] = append(b.Values[k], get(s))
		}
		return b
	}
	return figure.Panels{Columns: 2, Figures: []figure.Figure{
		panel("near (1, 1): S_an rises", func(s FieldShare) float64 { return s.Corner.NegativeNear }),
		panel("near (1, 1): S_ap falls", func(s FieldShare) float64 { return s.Corner.PositiveAway }),
		panel("whole square: S_an rises", func(s FieldShare) float64 { return s.All.NegativeNear }),
		panel("whole square: S_ap falls", func(s FieldShare) float64 { return s.All.PositiveAway }),
	}}
}

func fieldPage(r *FieldResult, o FieldOptions, maps, fields []report.Captioned) report.Page {
	t := report.Table{Columns: []report.Column{{Name: "loss"}, {Name: "γ"}, {Name: "p"},
		{Name: "S_ap falls", Group: "share of the square"}, {Name: "S_an rises", Group: "share of the square"},
		{Name: "both rise", Group: "share of the square"},
		{Name: "S_ap falls", Group: "share of its corner [0.8, 1]²"},
		{Name: "S_an rises", Group: "share of its corner [0.8, 1]²"},
		{Name: "both rise", Group: "share of its corner [0.8, 1]²"}}}
	worst := map[string]float64{}
	for _, s := range r.Shares {
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.TextCell(s.Loss),
			report.TextCell(fmt.Sprint(s.Gamma)),
			report.TextCell(fmt.Sprint(s.Entangle)),
			report.NumberCell(s.All.PositiveAway, 3), report.NumberCell(s.All.NegativeNear, 3),
			report.NumberCell(s.All.ToCorner, 3),
			report.NumberCell(s.Corner.PositiveAway, 3), report.NumberCell(s.Corner.NegativeNear, 3),
			report.NumberCell(s.Corner.ToCorner, 3)}})
		worst[s.Loss] = max(worst[s.Loss], s.Corner.ToCorner)
	}
	blocks := []report.Block{
		report.Text("A step goes the wrong way where the positive becomes less similar to the anchor (S_ap falls) or " +
			"the negative more similar (S_an rises). Where both rise, triplets drift to (1, 1) and all points become " +
			"one. This is the problem with hard negatives early in training."),
		oneFigure(sharesFigure(r, o), "Shares of the area, by cell centres of a 200 x 200 grid."),
	}
	first, second := worst["first order"], worst["second order"]
	if first > 0 && second > 0 {
		blocks = append(blocks, report.Verdict{Tone: report.Good,
			Text: fmt.Sprintf("Near (1, 1) the first-order loss drives up to %.0f%% of the corner into that point, "+
				"the second-order loss at most %.1f%%.", 100*first, 100*second),
			Reasons: []string{"Not in the paper: the second-order loss pays for this with the positive. In most of " +
				"that corner S_ap falls, because the pull on the positive fades with 1 - S_ap while the push on the " +
				"negative does not.",
				"Over the whole square it is not the safer choice at large γ: where S_an is small its push is weak, " +
					"and entanglement with the pull then raises S_an."}})
	}
	blocks = append(blocks, t)
	return report.Page{Title: "Where a gradient step moves a triplet",
		Lead: "The triplet scatter diagram of Xuan et al. 2020: every triplet is a point (S_ap, S_an), and a " +
			"gradient step moves it. γ is the cosine between the directions from the anchor to the positive and the " +
			"negative; p is how entangled the two changes are.",
		Sections: []report.Section{
			{Title: "Vector fields", Blocks: []report.Block{report.Text("Arrows show the direction of a step; short " +
				"ones are lengthened. Below the diagonal a triplet is right. No field has arrows pointing up and to " +
				"the left, as §6.1 of the paper says."), report.Figures{Items: fields}}},
			{Title: "Wrong ways, as shares", Blocks: blocks},
			{Title: "Maps of the change", Blocks: []report.Block{report.Text("Red: the similarity rises; blue: it " +
				"falls. On the left of each row is the positive (red is right), on the right the negative (blue is " +
				"right)."), report.Figures{Items: maps}}},
			{Title: "How it was computed", Blocks: []report.Block{report.Text("Three unit vectors are placed with " +
				"the given similarities, moved by one gradient step and normalised. The paper's closed forms agree " +
				"up to rounding once two misprints are corrected (in its equations 23 and 24). It does not state the " +
				"step size."),
				report.Settings{Items: []report.Item{{Name: "step size", Value: fmt.Sprint(r.Rate)},
					{Name: "q", Value: r.Rule},
					{Name: "gradient through the normalisation", Value: fmt.Sprint(r.Tangent)}}}}},
		}, Footer: "kindred theory field"}
}
