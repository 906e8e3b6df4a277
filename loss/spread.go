package loss

import "github.com/kindred-ml/kindred/internal/base/option"

// Spread keeps the samples of a class apart, each near its own other views: InfoNCE
// within the class,
//
//	L = -log( exp(S_av/T) / (exp(S_av/T) + sum over w of exp(S_aw/T)) )
//
// where v is another row of the anchor's sample by Batch.IDs of package objective,
// such as another crop of the same picture, and w are the rows of other samples of
// its class. Rows of other classes do not count. It is added to a loss that pulls
// classes together: (1 - x) SupCon + x Spread is the paper's loss. Terms are pairs
// (anchor, view) of anchors whose class has other samples; the default reduction is
// the mean.
//
// Chen et al. 2022, "Perfectly balanced: improving transfer and robustness of
// supervised contrastive learning".
//
// Use it added to supcon, with two views of each picture in the batch, when the members of a class should stay apart:
// `sample.views: 2` and an augmentation (`data.augment`), which makes the two differ.
//
// Inside a class: it pushes members of a class away from each other, against the collapse that the other loss causes.
type Spread struct {
	Temperature *float64 // T, default 0.1
	Reduce      Reduction
}

// Traits implements Loss.
func (l Spread) Traits() Traits { return Traits{Reduction: l.Reduce, Views: true} }

// Terms implements Loss.
func (l Spread) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l Spread) Set(s *Set) { addRatioTerms(s, 1/option.OrDefault(l.Temperature, 0.1)) }
