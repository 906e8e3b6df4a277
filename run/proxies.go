package run

import (
	"context"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/objective"
)

// Values of train.proxies.
const (
	randomProxies = "random"
	meanProxies   = "means"
)

// settleProxies settles how the proxies of the loss start. From a pretrained start the means of the classes are known,
// and training does not have to find them first.
func (t *built) settleProxies() error {
	c := &t.cfg.Train
	if t.options.Traits().Proxies == 0 {
		if c.Proxies != "" {
			return fmt.Errorf("train.proxies is %s, but loss.name=%v has no proxies: leave the key out", c.Proxies,
				t.cfg.Loss["name"])
		}
		return nil
	}
	if c.Proxies == "" {
		c.Proxies = randomProxies
		if t.tunes() {
			c.Proxies = meanProxies
		}
	}
	return nil
}

// startProxies starts the proxies of each class, the first parameter of the loss, as the mean of the unit embeddings
// of its samples before training (imprinted weights: Qi, Brown and Lowe 2018, arXiv 1712.07136). Several proxies of a
// class share its samples in turn. A proxy without samples stays random. A checkpoint has the proxies of a resumed run.
func (t *built) startProxies(ctx context.Context, made *objective.Objective) error {
	if t.cfg.Train.Proxies != meanProxies || t.opts.Resume {
		return nil
	}
	feed, err := newFeed(t.sel.Train, t.cfg.Data, t.cfg.Train.Seed, false, false)
	if err != nil {
		return err
	}
	if t.features != nil {
		feed = t.features.of(feed, 0)
	}
	e, err := embed(ctx, t.trained, feed, t.cfg.Eval.Batch)
	if err != nil {
		return err
	}
	per, value := t.options.Traits().Proxies, made.Params()[0].Value
	sums := make([][]float64, len(value)/e.X.Cols)
	turn := map[int64]int{} // samples of the label so far
	for row, pos := range e.Pos {
		y := t.from.seen[pos]
		k := int(y)*per + turn[y]%per
		turn[y]++
		if sums[k] == nil {
			sums[k] = make([]float64, e.X.Cols)
		}
		x := e.X.Row(row)
		var squares float64
		for _, v := range x {
			squares += float64(v) * float64(v)
		}
		for j, v := range x {
			sums[k][j] += float64(v) / math.Sqrt(max(squares, math.SmallestNonzeroFloat64))
		}
	}
	for k, sum := range sums {
		var squares float64
		for _, v := range sum {
			squares += v * v
		}
		if squares > 0 {
			for j, v := range sum {
				value[k*len(sum)+j] = float32(v / math.Sqrt(squares))
			}
		}
	}
	return nil
}
