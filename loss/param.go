package loss

import (
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// Param is a learnable parameter of a loss. The loss reads Value and writes
// Grad; the training loop changes Value in place.
type Param struct {
	Name  string
	Shape []int
	Value []float32
	Grad  []float32
	// Rate is the parameter's own learning rate; 0 means the network's.
	Rate float64
}

func newParam(name string, rate float64, shape ...int) *Param {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return &Param{Name: name, Shape: shape, Value: make([]float32, n), Grad: make([]float32, n), Rate: rate}
}

// Learner is a loss with parameters. Its methods have pointer receivers: pass
// such a loss by pointer, and use it in one objective only.
type Learner interface {
	Loss
	// Learn creates the parameters for labels 0..classes-1 and embeddings of dim
	// numbers. It is called once, before the loss is used.
	Learn(classes, dim int, seed uint64) error
	Params() []*Param
}

// PerLabel is a Pairs loss that learns one number for each label, or one for
// all.
type PerLabel interface {
	Learner
	// Learned writes to the parameter's Grad the sums of d[i] over anchors i
	// of each label, times scale.
	Learned(labels []int64, d []float64, scale float64)
}

// proxies is the parameter that losses with proxies share.
type proxies struct {
	param *Param
	per   int
}

// learn draws proxies from N(0, 1) times std. A nil rate is the network's.
func (p *proxies) learn(rate *float64, classes, dim int, seed uint64, std float64) error {
	if classes < 1 || dim < 1 {
		return fmt.Errorf("a loss with proxies needs the number of classes and of dimensions, not %d and %d", classes,
			dim)
	}
	p.param = newParam("proxies", option.OrDefault(rate, 0), classes*max(p.per, 1), dim)
	rng := rand.New(rand.NewPCG(seed, 0x70726f78))
	for k := range p.param.Value {
		p.param.Value[k] = float32(rng.NormFloat64() * std)
	}
	return nil
}

// Params implements Learner.
func (p *proxies) Params() []*Param {
	if p.param == nil {
		return nil
	}
	return []*Param{p.param}
}
