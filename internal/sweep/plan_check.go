package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/run"
)

// check fills in the defaults and tries the ends of every range, so that mistakes are found
// before the first trial.
func (r *planReader) check() {
	p := r.plan
	if err := p.complete(); err != nil {
		r.Note(err)
		return
	}
	if p.First > p.Epochs {
		r.Fail(nil, "first: %d epochs are more than train.epochs, %d", p.First, p.Epochs)
		return
	}
	if p.Use > p.Folds {
		r.Fail(nil, "use: %d folds are more than the plan has, %d", p.Use, p.Folds)
	}
	for i := range p.Start {
		r.checkStart(&p.Start[i], p.Arms)
	}
	for i := range p.Arms {
		a := &p.Arms[i]
		for k := range a.Start {
			r.checkStart(&a.Start[k], p.Arms[i:i+1])
		}
		if least := p.rungs(a)[0]; p.Budget < least {
			r.Fail(nil, "a budget of %d epochs is too small: a trial of arm %s needs at least %d", p.Budget,
				a.Name, least)
		}
		if p.stopOf(a) == ASHA && !strings.Contains(p.Metric, "recall@") {
			r.Fail(nil, "metric %s is computed only after the last epoch: with stop: asha use recall@K, or "+
				"stop: never", p.Metric)
		}
		ranges := p.rangesOf(a)
		if len(ranges) == 0 {
			r.Fail(nil, "arm %s has no range to search: ranges is empty; to compare arms as they are, use compare",
				a.Name)
			continue
		}
		for k := range ranges {
			for _, own := range extremes(ranges, k) {
				if _, err := p.config(a, own); err != nil {
					r.Note(err)
					break
				}
			}
		}
	}
}

// checkStart checks that a setting of the first trial has a range and lies within it.
func (r *planReader) checkStart(s *Setting, arms []Arm) {
	ranged := false
	for i := range arms {
		for _, own := range r.plan.rangesOf(&arms[i]) {
			if own.Key != s.Key {
				continue
			}
			if ranged = true; !own.Contains(s.Value) {
				r.Note(fmt.Errorf("%s: start: %s is not in the range of %s", s.place, s.Value, s.Key))
			}
		}
	}
	if !ranged {
		r.Note(fmt.Errorf("%s: start: %s has no range: put a key that is not searched under set", s.place, s.Key))
	}
}

// complete fills in the defaults, for which the configuration has to be read.
func (p *Plan) complete() error {
	var arm Arm
	if len(p.Arms) > 0 {
		arm = p.Arms[0]
	}
	cfg, err := p.config(&arm, lowEnds(p.rangesOf(&arm)))
	if err != nil {
		return err
	}
	p.Epochs = cfg.Train.Epochs
	p.setDefaults()
	for i := range p.Arms {
		cfg, err := p.config(&p.Arms[i], lowEnds(p.rangesOf(&p.Arms[i])))
		if err == nil && cfg.Train.Epochs != p.Epochs {
			return fmt.Errorf("arm %s has train.epochs %d, but arm %s %d: all arms need the same value, as they "+
				"have one budget", p.Arms[0].Name, p.Epochs, p.Arms[i].Name, cfg.Train.Epochs)
		}
		if err == nil {
			err = checkMetric(cfg, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkMetric checks that the metric is measured.
func checkMetric(cfg run.Config, p *Plan) error {
	name := strings.TrimPrefix(strings.TrimPrefix(p.Metric, "label:"), "fine:")
	for _, k := range cfg.Eval.Recall {
		if name == fmt.Sprintf("recall@%d", k) {
			return nil
		}
	}
	if slices.Contains(cfg.Eval.Metrics, p.Metric) || slices.Contains(cfg.Eval.Metrics, name) {
		return nil
	}
	return fmt.Errorf("metric %s is not measured: add it under set, to eval.recall or eval.metrics", p.Metric)
}

// lowEnds takes the low end of every range.
func lowEnds(ranges []Range) []Setting {
	var out []Setting
	for i := range ranges {
		out = append(out, ranges[i].settingAt(0))
	}
	return out
}

// extremes returns settings with range k at each of its ends or values, and the other ranges at their
// first value.
func extremes(ranges []Range, k int) [][]Setting {
	r := &ranges[k]
	ends := []Setting{r.settingAt(0), r.settingAt(1)}
	if r.Values != nil {
		ends = nil
		for _, v := range r.Values {
			ends = append(ends, Setting{r.Key, v, r.place})
		}
	}
	var out [][]Setting
	for _, s := range ends {
		own := lowEnds(ranges)
		own[k] = s
		out = append(out, own)
	}
	return out
}
