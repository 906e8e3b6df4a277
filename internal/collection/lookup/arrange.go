package lookup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/compute/rerank"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// The ways of re-ranking.
const (
	AlphaQE     = "alpha-qe"     // query expansion
	KReciprocal = "k-reciprocal" // k-reciprocal encoding
)

// MinRerank is the least number of nearest items that re-ranking and Arrange.Diverse choose from; for more than half as
// many neighbours it is twice their number.
const MinRerank = 200

const (
	maxOthers   = 1000 // bound on Arrange.Others
	maxArranged = 2000 // bound on Options.K with Arrange
	// maxSearched bounds the search for groups: columns may have fewer values than K.
	maxSearched = 64 * MinRerank
)

// IsArranged reports whether others than the K nearest items may be shown, or in another order.
func (o *Options) IsArranged() bool { return o.Arrange != (api.Arrange{}) }

// Validate returns an *option.InvalidError for a wrong value, and an *option.InapplicableError for a value
// that lacks another.
func (o *Options) Validate() error {
	invalid := func(setting string, value any, want string) error {
		return &option.InvalidError{Setting: setting, Value: fmt.Sprint(value), Want: want}
	}
	switch {
	case !(o.Least >= 0 && o.Least <= 1):
		return invalid("least", o.Least, "a probability, 0 to 1")
	case !(o.Collapse >= 0) || o.Collapse > 1e30:
		return invalid("collapse", o.Collapse, "a distance, 0 or more")
	case !(o.Diverse >= 0 && o.Diverse < 1):
		return invalid("diverse", o.Diverse, "a weight of 0 or more and below 1")
	case o.Others < 0 || o.Others > maxOthers:
		return invalid("others", o.Others, fmt.Sprintf("0 to %d", maxOthers))
	case o.IsArranged() && o.K > maxArranged:
		return invalid("neighbours", o.K, fmt.Sprintf("at most %d to re-rank, collapse, group or diversify",
			maxArranged))
	case o.Rerank != "" && o.Rerank != AlphaQE && o.Rerank != KReciprocal:
		return invalid("rerank", o.Rerank, AlphaQE+" or "+KReciprocal)
	case o.Others > 0 && o.GroupBy == "" && o.Collapse == 0:
		return &option.InapplicableError{Setting: "others", Needs: []string{"group-by", "collapse"},
			Reason: "it lists the further items of a group"}
	}
	return nil
}

// arranger turns the nearest items into the neighbours that Options ask for.
type arranger struct {
	g   Gallery
	by  eval.Distance
	opt *Options
}

// check refuses copies under the dot distance, and groups by a column that no item has.
func (r *arranger) check(columns []store.Column) error {
	if r.opt.Collapse > 0 && r.by == eval.Dot {
		return &option.InapplicableError{Setting: "collapse", To: "a gallery with dot distance",
			Reason: "copies have no small distance there"}
	}
	name := r.opt.GroupBy
	if name == "" || name == "path" || slices.ContainsFunc(columns,
		func(c store.Column) bool { return c.Name == name }) {
		return nil
	}
	var have []string
	for _, c := range columns {
		if !strings.HasPrefix(c.Name, mirror.Prefix) {
			have = append(have, c.Name)
		}
	}
	want := "a column of the gallery, which has none"
	if have != nil {
		want = "a column of the gallery: " + strings.Join(have, ", ")
	}
	return &option.InvalidError{Setting: "group-by", Value: name, Want: want}
}

// searchSize returns the number of items to search for at first.
func (r *arranger) searchSize() int {
	if !r.opt.IsArranged() {
		return r.opt.K
	}
	return max(MinRerank, 2*r.opt.K)
}

// finish judges the nearest items, arranges them, and shortens them to K. It reports whether farther items cannot be
// neighbours.
func (r *arranger) finish(ctx context.Context, q *Query, a *api.Answer) (complete bool, err error) {
	o := r.opt
	complete = o.Rerank != ""
	if o.Same != nil && !q.Summed && setProbabilities(a, o.Same.MatchProbability, o.Least) {
		complete = true
	}
	var steps []string
	if o.IsArranged() {
		if steps, err = r.arrange(ctx, q, a); err != nil {
			return false, err
		}
	}
	a.Neighbours = a.Neighbours[:min(o.K, len(a.Neighbours))]
	if !o.Vectors {
		for i := range a.Neighbours {
			removeVectors(&a.Neighbours[i])
		}
	}
	if o.Explain != nil {
		a.Explain = r.explain(q, a, steps)
	}
	return complete, nil
}

func removeVectors(n *api.Neighbour) {
	n.Vector = nil
	for i := range n.Others {
		n.Others[i].Vector = nil
	}
}

// setProbabilities gives neighbours their probabilities. It leaves out those below least, and reports
// whether there are any.
func setProbabilities(a *api.Answer, same func(distance float64) float64, least float64) bool {
	for k := range a.Neighbours {
		p := same(a.Neighbours[k].Distance)
		if a.Neighbours[k].IsQuery {
			p = 1
		}
		if p < least { // farther neighbours are below it too
			a.Neighbours = a.Neighbours[:k]
			return true
		}
		a.Neighbours[k].MatchProbability = &p
	}
	return false
}

// arrange re-ranks the neighbours, collapses near copies, groups, and diversifies, in this order. It returns what it
// did, for people.
func (r *arranger) arrange(ctx context.Context, q *Query, a *api.Answer) (steps []string, err error) {
	o := r.opt
	note := func(format string, args ...any) { steps = append(steps, fmt.Sprintf(format, args...)) }
	near := a.Neighbours
	if o.Rerank != "" {
		if near, err = r.rerank(ctx, q, near); err != nil {
			return nil, err
		}
		note("the %d nearest were ordered by %s", len(near), o.Rerank)
	}
	if o.Collapse > 0 {
		leaders := 0 // all
		if o.GroupBy == "" && o.Diverse == 0 {
			leaders = o.K
		}
		leader, err := r.candidates(q, near).NearCopies(ctx, o.Collapse, leaders)
		if err != nil {
			return nil, err
		}
		n := len(near)
		near = keepFirstOfGroups(near, func(i int) int { return leader[i] }, o.Others)
		note("of %d items those at most %g from a nearer one were collapsed", n, o.Collapse)
	}
	if o.GroupBy != "" {
		first, n := map[string]int{}, len(near)
		near = keepFirstOfGroups(near, func(i int) int {
			value := r.g.value(&near[i], o.GroupBy)
			lead, ok := first[value]
			if !ok || value == "" { // an item without a value is a group of its own
				first[value], lead = i, i
			}
			return lead
		}, o.Others)
		note("%d further items with the same %s were grouped", n-len(near), o.GroupBy)
	}
	if o.Diverse > 0 {
		pool := near[:min(len(near), r.searchSize())]
		order, err := r.candidates(q, pool).Diverse(ctx, orderingDistances(pool), o.K, o.Diverse)
		if err != nil {
			return nil, err
		}
		near = lists.At(pool, order)
		note("of %d items those most unlike each other were chosen, with the weight %g", len(pool), o.Diverse)
	}
	a.Neighbours = near
	return steps, nil
}

// rerank orders the nearest items anew.
func (r *arranger) rerank(ctx context.Context, q *Query, near []api.Neighbour) ([]api.Neighbour, error) {
	c := r.candidates(q, near)
	var score []float64
	if r.opt.Rerank == AlphaQE {
		score = c.AlphaQE(rerank.ExpansionSize, rerank.Alpha)
	} else {
		var err error
		if score, err = c.KReciprocal(ctx, rerank.K1, rerank.K2, rerank.Lambda); err != nil {
			return nil, err
		}
	}
	out := make([]api.Neighbour, 0, len(near))
	for _, i := range rerank.Order(score) {
		n := near[i]
		n.Score = &score[i]
		out = append(out, n)
	}
	return out, nil
}

// candidates returns neighbours for package rerank.
func (r *arranger) candidates(q *Query, near []api.Neighbour) *rerank.Candidates {
	c := &rerank.Candidates{Query: q.Vector, X: matrix.New(len(near), len(q.Vector)), By: r.by}
	for i := range near {
		copy(c.X.Row(i), near[i].Vector)
	}
	return c
}

// orderingDistances returns the distances by which neighbours are ordered.
func orderingDistances(near []api.Neighbour) []float64 {
	out := make([]float64, len(near))
	for i := range near {
		out[i] = option.OrDefault(near[i].Score, near[i].Distance)
	}
	return out
}

// keepFirstOfGroups keeps the first neighbour of each group. leader returns the position of the first one in
// the group of the i-th, and is called in order. It counts the others, and lists up to most of them.
func keepFirstOfGroups(near []api.Neighbour, leader func(i int) int, most int) []api.Neighbour {
	var out []api.Neighbour
	place := make([]int, len(near)) // of a leader in out
	for i := range near {
		n := near[i]
		lead := leader(i)
		if lead < 0 { // it is in no group that is shown
			continue
		}
		if lead == i {
			place[i] = len(out)
			n.Count = max(1, n.Count)
			out = append(out, n)
			continue
		}
		head, further := &out[place[lead]], n.Others
		head.Count += max(1, n.Count)
		n.Others, n.Count = nil, 0
		head.Others = append(append(head.Others, n), further...)
		head.Others = head.Others[:min(most, len(head.Others))]
	}
	return out
}
