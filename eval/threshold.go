package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// OnlyPairs reports whether all metrics measure decisions about a list of pairs. Then no labels are
// needed.
func (c *Config) OnlyPairs() bool {
	return !slices.ContainsFunc(c.Metrics, func(m Metric) bool { return !m.pairs() })
}

// decisions computes the measures of decisions by a threshold for every column.
func decisions(ctx context.Context, queries Set, gallery *Set, cfg Config, rep *Report) error {
	var pairs, open []Metric
	for _, m := range cfg.Metrics {
		switch {
		case m.pairs():
			pairs = append(pairs, m)
		case m.opens():
			open = append(open, m)
		}
	}
	for c := range rep.Columns {
		col := &rep.Columns[c]
		d := decided{cfg, col, c, queries, gallery}
		if len(pairs) > 0 {
			if err := d.verify(ctx, rep, pairs); err != nil {
				return fmt.Errorf("%s by %q: %w", joinMetrics(pairs), col.Name, err)
			}
		}
		if len(open) > 0 {
			if err := d.identify(ctx, open); err != nil {
				return fmt.Errorf("%s by %q: %w", joinMetrics(open), col.Name, err)
			}
		}
	}
	return nil
}

// decided measures decisions for one column of labels.
type decided struct {
	cfg     Config
	col     *Column
	at      int // the column's number
	queries Set
	gallery *Set
}

func (d *decided) options(stage string) CompareOptions {
	opt := CompareOptions{Distance: d.cfg.Distance, Column: d.at, Self: d.cfg.Self}
	if p := d.cfg.Progress; p != nil {
		opt.Progress = func(done float64) { p(stage, done) }
	}
	return opt
}

// verify measures decisions about pairs.
func (d *decided) verify(ctx context.Context, rep *Report, metrics []Metric) error {
	opt := d.options("comparing all pairs")
	var listed *Listed
	var err error
	if d.cfg.Pairs != nil {
		if listed, err = CompareList(ctx, d.queries.X, d.cfg.Pairs, opt); err == nil {
			d.col.Pairs = listed.Counts
		}
	} else {
		d.col.Pairs, err = ComparePairs(ctx, d.queries, d.gallery, opt)
	}
	if err != nil {
		return err
	}
	var drawable []Metric // those that can be resampled
	var values []int      // the value of each
	first := len(d.col.Values)
	for _, m := range metrics {
		v := Value{Metric: m}
		if list := m.Kind.measure().list; list != nil {
			var spread float64
			if v.Value, spread, err = list(listed); err != nil {
				return err
			}
			rep.note(fmt.Sprintf("%s: mean of %d folds, each decided by the threshold of the others; "+
				"standard error %.4f", m, listed.Folds(), spread))
		} else {
			v.Value, v.Decision = m.Kind.measure().pairs(d.col.Pairs, m.Rate)
			drawable, values = append(drawable, m), append(values, len(d.col.Values))
			if few := d.col.Pairs.Impostor(); m.Rate > 0 && m.Rate*float64(few) < 1 {
				rep.note(fmt.Sprintf("%s: %d impostor pairs are too few for so small a rate, so none is "+
					"accepted", m, few))
			}
		}
		d.col.Values = append(d.col.Values, v)
	}
	for _, v := range d.col.Values[first:] {
		if v.Value-v.Value != 0 {
			return fmt.Errorf("%s is %v: all genuine pairs have the same distance, and so have all impostor "+
				"pairs", v.Metric,
				v.Value)
		}
	}
	if d.cfg.Bootstrap == 0 || len(drawable) == 0 {
		return nil
	}
	var drawn [][]float64
	b := Bootstrap{Resamples: d.cfg.Bootstrap, Seed: d.cfg.Seed}
	if listed != nil {
		drawn, err = listed.Resample(ctx, drawable, b)
	} else {
		drawn, err = ResamplePairs(ctx, d.queries, d.gallery, d.col.Pairs, drawable, b, d.options("resampling pairs"))
	}
	if err != nil {
		return fmt.Errorf("the confidence intervals: %w", err)
	}
	for s, of := range drawn {
		d.col.Values[values[s]].ByClass = interval(of, cmp.Or(d.cfg.Confidence, defaultConfidence))
	}
	return nil
}

// note adds a note unless it is there already.
func (rep *Report) note(text string) {
	if !slices.Contains(rep.Notes, text) {
		rep.Notes = append(rep.Notes, text)
	}
}

// identify measures identification in an open set.
func (d *decided) identify(ctx context.Context, metrics []Metric) error {
	var err error
	if d.col.Open, err = Identify(ctx, d.queries, d.gallery, d.options("looking up queries")); err != nil {
		return err
	}
	first := len(d.col.Values)
	for _, m := range metrics {
		r := d.col.Open.AtFPIR(m.Rate)
		d.col.Values = append(d.col.Values,
			Value{Metric: m, Value: m.Kind.measure().probes(r), Decision: &Decision{r.Threshold, r.FPIR}})
	}
	if d.cfg.Bootstrap == 0 {
		return nil
	}
	drawn, err := d.col.Open.Resample(ctx, metrics, Bootstrap{Resamples: d.cfg.Bootstrap, Seed: d.cfg.Seed})
	if err != nil {
		return fmt.Errorf("the confidence intervals: %w", err)
	}
	for s, values := range drawn {
		d.col.Values[first+s].ByClass = interval(values, cmp.Or(d.cfg.Confidence, defaultConfidence))
	}
	return nil
}

func joinMetrics(metrics []Metric) string {
	s := ""
	for i, m := range metrics {
		if i > 0 {
			s += ", "
		}
		s += m.String()
	}
	return s
}
