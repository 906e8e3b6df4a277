package clean

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// foldPart is an embedding with the items that are judged in it (held), the items that judge them (rest), and
// every judged item's neighbours among the latter.
type foldPart struct {
	x               *matrix.Dense
	heldOut, judges []int
	k               int
	neighbours      []int     // k neighbours for each of held
	weight          []float64 // weights of their votes
}

// isWhole reports whether items are judged by each other, each without its own label.
func (p *foldPart) isWhole() bool {
	return len(p.heldOut) == len(p.judges) && p.heldOut[0] == p.judges[0]
}

// findNeighbours finds the neighbours.
func (p *foldPart) findNeighbours(ctx context.Context, k int) error {
	p.k = k
	queries, gallery := p.x.RowsAt(p.heldOut), (*matrix.Dense)(nil)
	if !p.isWhole() {
		gallery = p.x.RowsAt(p.judges)
	}
	nb, err := eval.Nearest(ctx, queries, gallery, k, eval.RankOptions{})
	if err != nil {
		return err
	}
	p.neighbours, p.weight = make([]int, len(nb.Row)), make([]float64, len(nb.Row))
	for e, r := range nb.Row {
		p.neighbours[e] = p.judges[r]
	}
	for i := range p.heldOut {
		// The scale is local: it is the mean squared distance of the neighbours.
		var mean float64
		row := nb.Value[i*k : (i+1)*k]
		for _, v := range row {
			mean += v / float64(k)
		}
		for e, v := range row {
			p.weight[i*k+e] = 1
			if mean > 0 {
				p.weight[i*k+e] = math.Exp(-v / mean)
			}
		}
	}
	return nil
}

// candidate is a class that an item may be of.
type candidate struct {
	class      int
	vote, head float64
}

// evidence holds the votes and predictions for every item.
type evidence struct {
	y, wrong    []int
	classes     int
	trust       []float64
	asIs, given []margins // margins of the actual labels, and of wrong labels
	candidates  [][]candidate
	// ahead is the score of the class of an item less the score of each label in asked, with which
	// the class is confused.
	confusable confusablePairs
	ahead      [][]candidate
	// defaults are the labels that may be default labels, and ifDefault the margins of all items with each of
	// them.
	defaults  []int
	ifDefault [][]margins
}

// margins are the differences of a label's score from that of the best other class and from certainty, by
// the votes of the nearest rows and by the head.
type margins [4]float64

// maxCandidates is the number of classes that each classifier may suggest.
const maxCandidates = 3

// computeEvidence computes the evidence on the items of a part.
func (p *foldPart) computeEvidence(ctx context.Context, h *evidence) error {
	head, err := p.fit(ctx, h)
	if err != nil {
		return err
	}
	const block = 256
	said := matrix.New(block, h.classes)
	votes := make([]float64, h.classes)
	for lo := 0; lo < len(p.heldOut); lo += block {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+block, len(p.heldOut))
		out := said.RowRange(0, hi-lo)
		head.predict(p, h, lo, hi, out)
		for k := lo; k < hi; k++ {
			i := p.heldOut[k]
			clear(votes)
			var sum float64
			for e := k * p.k; e < (k+1)*p.k; e++ {
				j := p.neighbours[e]
				w := p.weight[e] * h.trust[j]
				votes[h.y[j]] += w
				sum += w
			}
			for c := range votes {
				votes[c] /= sum
			}
			row := out.Row(k - lo)
			h.candidates[i] = h.candidates[i][:0]
			for range maxCandidates {
				h.add(i, argmax(votes, h.candidates[i]), votes, row)
			}
			for range maxCandidates {
				h.add(i, argmax(row, h.candidates[i]), votes, row)
			}
			h.compare(i, votes, row)
			for k, l := range h.defaults {
				h.ifDefault[k][i] = h.computeMargins(i, l, votes, row)
			}
			h.asIs[i], h.given[i] = h.computeMargins(i, h.y[i], votes, row), h.computeMargins(i, h.wrong[i], votes, row)
		}
	}
	return nil
}

func (h *evidence) add(i, class int, votes []float64, row []float32) {
	if class >= 0 {
		h.candidates[i] = append(h.candidates[i], candidate{class, votes[class], float64(row[class])})
	}
}

// argmax returns the best class that is not a candidate yet, or -1 if all are.
func argmax[T cmp.Ordered](of []T, but []candidate) int {
	best := -1
	for c, v := range of {
		if best >= 0 && v <= of[best] {
			continue
		}
		if !slices.ContainsFunc(but, func(x candidate) bool { return x.class == c }) {
			best = c
		}
	}
	return best
}

// computeMargins computes the margins of an item with a label.
func (h *evidence) computeMargins(i, label int, votes []float64, row []float32) margins {
	vote, head := 0.0, math.Inf(-1)
	for _, c := range h.candidates[i] {
		if c.class != label {
			vote, head = max(vote, c.vote), max(head, c.head)
		}
	}
	own := float64(row[label])
	return margins{vote - votes[label], 1 - votes[label], head - own, 1 - own}
}

// ridgeHead is a ridge regression of the centred indicators of classes on the centred embedding.
type ridgeHead struct {
	mean    []float64
	share   []float64
	inverse *gonum.Dense  // d x d matrix inv(X'RX + lambda), for the influence of rows
	beta    *matrix.Dense // d x classes
}

// lambda is the penalty in units of the mean variance of a coordinate.
const lambda = 0.1

// fit fits the head to the items that judge.
func (p *foldPart) fit(ctx context.Context, h *evidence) (*ridgeHead, error) {
	n, d := len(p.judges), p.x.Cols
	out := &ridgeHead{mean: make([]float64, d), share: make([]float64, h.classes)}
	var sum float64
	for _, i := range p.judges {
		r := h.trust[i]
		sum += r
		out.share[h.y[i]] += r
		for j, v := range p.x.Row(i) {
			out.mean[j] += r * float64(v)
		}
	}
	for c := range out.share {
		out.share[c] /= sum
	}
	for j := range out.mean {
		out.mean[j] /= sum
	}
	rows, weighted := matrix.New(n, d), matrix.New(n, d)
	for k, i := range p.judges {
		for j, v := range p.x.Row(i) {
			rows.Row(k)[j] = v - float32(out.mean[j])
			weighted.Row(k)[j] = float32(h.trust[i]) * rows.Row(k)[j]
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	chol, err := out.solve(p, h, rows, weighted)
	if err != nil {
		return nil, err
	}
	if p.isWhole() {
		var inverse gonum.SymDense
		if err := chol.InverseTo(&inverse); err != nil && !errors.As(err, new(gonum.Condition)) {
			return nil, err
		}
		out.inverse = gonum.DenseCopyOf(&inverse)
	}
	return out, nil
}

// solve computes beta, and returns the Cholesky factors of X'RX + lambda.
func (f *ridgeHead) solve(p *foldPart, h *evidence, rows, weighted *matrix.Dense) (*gonum.Cholesky, error) {
	d := rows.Cols
	gram := matrix.New(d, d)
	matrix.Gemm(true, false, 1, weighted, rows, 0, gram)
	a := gonum.NewSymDense(d, nil)
	var trace float64
	for j := range d {
		trace += float64(gram.At(j, j))
	}
	penalty := lambda*trace/float64(d) + 1e-12
	for j := range d {
		for k := j; k < d; k++ {
			v := float64(gram.At(j, k))
			if j == k {
				v += penalty
			}
			a.SetSym(j, k, v)
		}
	}
	// X'R(Y - share), by class.
	target := gonum.NewDense(d, h.classes, nil)
	total := make([]float64, d)
	for k, i := range p.judges {
		for j, v := range weighted.Row(k) {
			target.Set(j, h.y[i], target.At(j, h.y[i])+float64(v))
			total[j] += float64(v)
		}
	}
	for j := range d {
		for c, s := range f.share {
			target.Set(j, c, target.At(j, c)-s*total[j])
		}
	}
	var chol gonum.Cholesky
	if !chol.Factorize(a) {
		return nil, errors.New("the embedding's covariance cannot be inverted")
	}
	var beta gonum.Dense
	if err := chol.SolveTo(&beta, target); err != nil && !errors.As(err, new(gonum.Condition)) {
		return nil, err
	}
	f.beta = matrix.New(d, h.classes)
	for j := range d {
		for c := range h.classes {
			f.beta.Row(j)[c] = float32(beta.At(j, c))
		}
	}
	return &chol, nil
}

// predict writes the head's predictions for the held items lo..hi-1 to out. For an item of the fit it
// writes the prediction without that item.
func (d *ridgeHead) predict(p *foldPart, h *evidence, lo, hi int, out *matrix.Dense) {
	rows := matrix.New(hi-lo, p.x.Cols)
	for k := lo; k < hi; k++ {
		for j, v := range p.x.Row(p.heldOut[k]) {
			rows.Row(k - lo)[j] = v - float32(d.mean[j])
		}
	}
	matrix.Gemm(false, false, 1, rows, d.beta, 0, out)
	var influence []float64
	if d.inverse != nil {
		inv := matrix.New(p.x.Cols, p.x.Cols)
		for j := range inv.Rows {
			for k := range inv.Cols {
				inv.Row(j)[k] = float32(d.inverse.At(j, k))
			}
		}
		t := matrix.New(rows.Rows, rows.Cols)
		matrix.Gemm(false, false, 1, rows, inv, 0, t)
		influence = make([]float64, rows.Rows)
		for k := range rows.Rows {
			for j, v := range rows.Row(k) {
				influence[k] += float64(v) * float64(t.Row(k)[j])
			}
		}
	}
	for k := range out.Rows {
		row := out.Row(k)
		i := p.heldOut[lo+k]
		scale, own := 1.0, 0.0
		if influence != nil {
			l := min(h.trust[i]*influence[k], 0.99)
			scale, own = 1/(1-l), l/(1-l)
		}
		for c := range row {
			y := -d.share[c]
			if c == h.y[i] {
				y++
			}
			row[c] = float32(scale*float64(row[c]) - own*y + d.share[c])
		}
	}
}

// countVotes counts the neighbours with an item's own label and with the suggested label.
func (p *foldPart) countVotes(y []int, ids []int64, out *LabelErrors) {
	for k, i := range p.heldOut {
		to, _ := slices.BinarySearch(ids, out.Suggested[i])
		for _, j := range p.neighbours[k*p.k : (k+1)*p.k] {
			switch y[j] {
			case y[i]:
				out.Agree[i]++
			case to:
				out.Votes[i]++
			}
		}
	}
}
