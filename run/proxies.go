package run

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/objective"
)

// Values of train.proxies.
const (
	randomProxies = "random"
	meanProxies   = "means"
)

// chooseProxyStart settles how the proxies of the loss start. From a pretrained start the means of the
// classes are known, and training does not have to find them first.
func (t *trainingStage) chooseProxyStart() error {
	c := &t.cfg.Train
	if t.lossOptions.Traits().Proxies == 0 {
		if c.Proxies != "" {
			return fmt.Errorf("train.proxies is %s, but loss.name=%v has no proxies: leave the key out", c.Proxies,
				t.cfg.Loss["name"])
		}
		return nil
	}
	if c.Proxies == "" {
		c.Proxies = randomProxies
		if t.isFineTuning() {
			c.Proxies = meanProxies
		}
	}
	return nil
}

// usesMeanProxies reports whether the proxies start at the means of their classes. A checkpoint has the proxies of a
// resumed run.
func (t *trainingStage) usesMeanProxies() bool {
	return t.cfg.Train.Proxies == meanProxies && !t.opts.Resume
}

// initProxies starts the proxies of each class, the first parameter of the loss, as the mean of the unit embeddings
// of its samples before training (imprinted weights: Qi, Brown and Lowe 2018, arXiv 1712.07136). Several proxies of a
// class share its samples in turn. A proxy without samples stays random.
func (t *trainingStage) initProxies(made *objective.Objective) error {
	if !t.usesMeanProxies() {
		return nil
	}
	x, err := t.computeStartEmbeddings()
	if err != nil {
		return err
	}
	per, value := t.lossOptions.Traits().Proxies, made.Params()[0].Value
	sums := make([][]float64, len(value)/x.Cols)
	turn := map[int64]int{} // samples of the label so far
	for i := range x.Rows {
		y := t.initialFeatures.seen[i]
		k := int(y)*per + turn[y]%per
		turn[y]++
		if sums[k] == nil {
			sums[k] = make([]float64, x.Cols)
		}
		for j, v := range x.Row(i) {
			sums[k][j] += float64(v)
		}
	}
	for k, sum := range sums {
		length := floats.Norm(sum, 2)
		if length == 0 {
			continue
		}
		for j, v := range sum {
			value[k*x.Cols+j] = float32(v / length)
		}
	}
	return nil
}

// computeStartEmbeddings returns the unit embeddings of the training samples before training.
func (t *trainingStage) computeStartEmbeddings() (*matrix.Dense, error) {
	x := t.initialFeatures.x
	if t.net.Spec().Head() != "" {
		tail, err := t.net.Tail()
		if err != nil {
			return nil, err
		}
		x = tail.Infer(x.Data[:x.Rows*x.Cols], x.Rows)
	}
	return eval.NormalizeRows(x), nil
}
