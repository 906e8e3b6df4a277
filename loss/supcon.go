package loss

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// SupCon is the supervised contrastive loss:
//
//	L = -(1/|P|) sum over p of log( exp(S_ap/T) / sum over others o of exp(S_ao/T) )
//
// where o runs over all chosen positives and negatives. Terms are anchors that
// have a positive; the default reduction is the mean.
//
// Khosla et al. 2020, "Supervised contrastive learning", in the form L_out.
//
// Use it for pre-training with labels, in large batches.
//
// Inside a class: all positives of an anchor are drawn in with equal weight, which collapses classes; easy positives
// turn it into ntxent on nearest neighbours.
type SupCon struct {
	Temperature *float64 // default 0.1
	Reduce      Reduction
}

// Traits implements Loss.
func (l SupCon) Traits() Traits { return Traits{Reduction: l.Reduce} }

// Terms implements Loss.
func (l SupCon) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l SupCon) Set(s *Set) { addSoftTerm(s, option.OrDefault(l.Temperature, 0.1), math.Inf(1)) }
