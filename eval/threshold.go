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
	return !slices.ContainsFunc(c.Metrics, func(m Metric) bool { return !m.isPairs() })
}

// measureDecisions computes the measures of decisions by a threshold for every column.
func measureDecisions(ctx context.Context, queries Set, gallery *Set, cfg Config, rep *Report) error {
	var pairs, open []Metric
	for _, m := range cfg.Metrics {
		switch {
		case m.isPairs():
			pairs = append(pairs, m)
		case m.isOpenSet():
			open = append(open, m)
		}
	}
	for c := range rep.Columns {
		col := &rep.Columns[c]
		d := decisionMeasurer{cfg, col, c, queries, gallery}
		if len(pairs) > 0 {
			if err := d.measurePairs(ctx, rep, pairs); err != nil {
				return fmt.Errorf("%s by %q: %w", joinMetrics(pairs), col.Name, err)
			}
		}
		if len(open) > 0 {
			if err := d.measureOpenSet(ctx, open); err != nil {
				return fmt.Errorf("%s by %q: %w", joinMetrics(open), col.Name, err)
			}
		}
	}
	return nil
}

// decisionMeasurer measures decisions for one column of labels.
type decisionMeasurer struct {
	cfg         Config
	col         *Column
	columnIndex int // the column's number
	queries     Set
	gallery     *Set
}

func (d *decisionMeasurer) compareOptions(stage string) CompareOptions {
	opt := CompareOptions{Distance: d.cfg.Distance, Column: d.columnIndex, SelfRows: d.cfg.SelfRows}
	if p := d.cfg.Progress; p != nil {
		opt.Progress = func(done float64) { p(stage, done) }
	}
	return opt
}

// measurePairs measures decisions about pairs.
func (d *decisionMeasurer) measurePairs(ctx context.Context, rep *Report, metrics []Metric) error {
	opt := d.compareOptions("comparing all pairs")
	var listed *PairList
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
			rep.addNote(fmt.Sprintf("%s: mean of %d folds, each decided by the threshold of the others; "+
				"standard error %.4f", m, listed.NumFolds(), spread))
		} else {
			v.Value, v.Decision = m.Kind.measure().pairs(d.col.Pairs, m.Rate)
			drawable, values = append(drawable, m), append(values, len(d.col.Values))
			if few := d.col.Pairs.Impostor(); m.Rate > 0 && m.Rate*float64(few) < 1 {
				rep.addNote(fmt.Sprintf("%s: %d impostor pairs are too few for so small a rate, so none is "+
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
		drawn, err = ResamplePairs(ctx, d.queries, d.gallery, d.col.Pairs, drawable, b,
			d.compareOptions("resampling pairs"))
	}
	if err != nil {
		return fmt.Errorf("the confidence intervals: %w", err)
	}
	for s, of := range drawn {
		d.col.Values[values[s]].ByClass = quantileInterval(of, cmp.Or(d.cfg.Confidence, defaultConfidence))
	}
	return nil
}

// addNote adds a note unless it is there already.
func (rep *Report) addNote(text string) {
	if !slices.Contains(rep.Notes, text) {
		rep.Notes = append(rep.Notes, text)
	}
}

// measureOpenSet measures identification in an open set.
func (d *decisionMeasurer) measureOpenSet(ctx context.Context, metrics []Metric) error {
	var err error
	if d.col.OpenSet, err = Identify(ctx, d.queries, d.gallery, d.compareOptions("looking up queries")); err != nil {
		return err
	}
	first := len(d.col.Values)
	for _, m := range metrics {
		r := d.col.OpenSet.RatesAtFPIR(m.Rate)
		d.col.Values = append(d.col.Values,
			Value{Metric: m, Value: m.Kind.measure().probes(r), Decision: &Decision{r.Threshold, r.FPIR}})
	}
	if d.cfg.Bootstrap == 0 {
		return nil
	}
	drawn, err := d.col.OpenSet.Resample(ctx, metrics, Bootstrap{Resamples: d.cfg.Bootstrap, Seed: d.cfg.Seed})
	if err != nil {
		return fmt.Errorf("the confidence intervals: %w", err)
	}
	for s, values := range drawn {
		d.col.Values[first+s].ByClass = quantileInterval(values, cmp.Or(d.cfg.Confidence, defaultConfidence))
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
