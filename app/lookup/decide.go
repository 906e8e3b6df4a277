package lookup

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/serve/api"
)

// Basis is what decisions depend on. Two that are equal make equal Deciders.
type Basis struct {
	Says     *decide.Calibration
	Known    *decide.Gallery  // the counts of the gallery's labels
	Measures *decide.Measures // distances between its items; nil: not measured
	// ByClass computes sets of a coverage from a class's own items if it has enough.
	ByClass bool
	decide.IdentifyOptions
}

// Check refuses options that do not apply to the calibration and the gallery, with an *option.Inapplicable. given
// reports whether an option is given: fpir, strangers or by-class. It sets the others to their defaults, or to zero
// where they do not apply. file names the calibration. measured reports whether Measures are used.
func (b *Basis) Check(file string, given func(setting string) bool) (measured bool, err error) {
	by := b.Says.Basis(*b.Known, b.IdentifyOptions)
	for _, of := range []struct {
		setting string
		applies bool
		why     string
	}{
		{"fpir", by != decide.ByClosed, "a closed calibration gives every photo a label; kindred calibrate with " +
			"--folds or --data makes an open one, which recognises unknown photos"},
		{"strangers", by == decide.ByNew, "the probability of a label is among the classes of the gallery"},
		{"by-class", by == decide.ByNew, "items that training saw lie closer to each other than new photos lie to " +
			"them, so sets use the photos of the calibration"},
	} {
		if given(of.setting) && !of.applies {
			return false, &option.Inapplicable{Setting: of.setting, To: file + ", which was learned from photos of " +
				"the classes of the gallery", Reason: of.why}
		}
	}
	b.FPIR, b.Strangers = cmp.Or(b.FPIR, decide.DefaultFPIR), cmp.Or(b.Strangers, decide.DefaultStrangers)
	if by == decide.ByClosed {
		b.FPIR = 0
	}
	if by != decide.ByNew {
		b.Strangers, b.ByClass = 0, false
	}
	b.ByClass = b.ByClass && b.Coverage > 0
	return by == decide.ByNew, nil
}

// Decider returns the rule of the decisions. Check must have been called.
func (b *Basis) Decider() (*decide.Decider, error) {
	known := *b.Known
	if b.Measures != nil {
		if known.Apart = b.Measures.Apart; b.ByClass {
			known.Spread = b.Measures.Spread
		}
	}
	return b.Says.Decider(known, b.IdentifyOptions)
}

// DecideOptions control how a Decider decides about queries.
type DecideOptions struct {
	Together bool // all queries are photos of one thing
	Voters   bool // keep the neighbours that voted
}

// FarError is the error of a set of labels that needs more neighbours than one search of the gallery may bring.
type FarError struct{ Most int }

func (e *FarError) Error() string {
	return fmt.Sprintf("a set of this coverage needs more than %d neighbours, which is the limit", e.Most)
}

// NoItemsError is the error of a gallery without items besides the queries.
type NoItemsError struct{ Gallery string }

func (e *NoItemsError) Error() string { return e.Gallery + " has no items besides the photos" }

// Decide decides about every query, or about all queries together. Items that are one of the queries decided about have
// no vote. The errors include a *FarError and a *NoItemsError.
func Decide(ctx context.Context, g Gallery, d *decide.Decider, queries []Query, opt DecideOptions) ([]Decision, error) {
	if opt.Together && len(queries) > 1 {
		one, err := decideTogether(ctx, g, d, queries, opt)
		return []Decision{one}, err
	}
	out := make([]Decision, len(queries))
	return out, reach(ctx, g, d, queries, 0, func(i int, found *api.Answer) (err error) {
		out[i] = Decision{Of: []int{i}}
		out[i].Query, out[i].Photos, out[i].Itself = queries[i].Name, 1, found.Itself
		if err = out[i].decide(d, [][]api.Neighbour{found.Neighbours}, opt); err != nil {
			err = fmt.Errorf("%s: %w", out[i].Query, err)
		}
		return err
	})
}

// decide decides by the neighbours of each photo.
func (q *Decision) decide(d *decide.Decider, near [][]api.Neighbour, opt DecideOptions) error {
	photos := make([][]decide.Neighbour, len(near))
	for k := range near {
		var voters []api.Neighbour
		photos[k] = Votes(near[k])
		if opt.Voters {
			voters = slices.Clone(near[k][:min(len(near[k]), d.Voters())])
			for i := range voters {
				voters[i].Label = photos[k][i].Label
			}
		}
		q.Voters = append(q.Voters, voters)
		if len(near[k]) > 0 {
			q.NearestOf = append(q.NearestOf, near[k][0].Distance)
		}
	}
	said, err := d.Decide(photos)
	q.Label, q.Probability, q.RunnerUp, q.RunnerUpProbability = said.Label, said.Probability, said.RunnerUp,
		said.RunnerUpProbability
	q.Unknown, q.Nearest, q.Within, q.Set = said.Unknown, said.Nearest, said.Within, said.Set
	return err
}

// Votes returns neighbours as a Decider takes them.
func Votes(near []api.Neighbour) []decide.Neighbour {
	out := make([]decide.Neighbour, len(near))
	for i, n := range near {
		out[i] = decide.Neighbour{Label: cmp.Or(n.Label, decide.Unlabelled), Distance: n.Distance}
	}
	return out
}

// decideTogether decides about all queries as photos of one thing. Items that are one of them have no vote about the
// others either.
func decideTogether(ctx context.Context, g Gallery, d *decide.Decider, queries []Query, opt DecideOptions) (Decision,
	error) {
	n := len(queries)
	q, near, itself := Decision{}, make([][]api.Neighbour, n), map[string]bool{}
	q.Query, q.Photos = queries[0].Name, n
	const spare = 64 // items of the other photos are left out too; few things have more photos
	err := reach(ctx, g, d, queries, min(n, spare), func(i int, found *api.Answer) error {
		near[i] = found.Neighbours
		for _, name := range found.Itself {
			itself[name] = true
		}
		return nil
	})
	if err != nil {
		return q, err
	}
	for i := range near {
		near[i] = slices.DeleteFunc(near[i], func(n api.Neighbour) bool { return itself[g.name(&n)] })
		if q.Of = append(q.Of, i); queries[i].Name != "" {
			q.Names = append(q.Names, queries[i].Name)
		}
	}
	for name := range itself {
		q.Itself = append(q.Itself, name)
	}
	slices.Sort(q.Itself)
	return q, q.decide(d, near, opt)
}

const (
	block     = 256     // queries looked up together
	mostAhead = 1 << 17 // most neighbours held at a time, some hundred bytes each
)

// reach calls found for each query, in any order, with all neighbours that decide about it, and spare ones more.
func reach(ctx context.Context, g Gallery, d *decide.Decider, queries []Query, spare int,
	found func(i int, answer *api.Answer) error) error {
	todo := make([]int, len(queries))
	for i := range todo {
		todo[i] = i
	}
	for k := d.Voters(); len(todo) > 0; k *= 4 {
		var again []int
		n := most(g, k+spare)
		for part := range slices.Chunk(todo, max(1, min(block, mostAhead/n))) {
			some := make([]Query, len(part))
			for j, i := range part {
				some[j] = queries[i]
			}
			answers, err := g.near(ctx, some, n, &Options{Exact: true, bare: true})
			if err != nil {
				return err
			}
			for j, i := range part {
				near := answers[j].Neighbours
				far := len(near) == n && near[max(0, n-spare-1)].Distance <= d.Reach()
				switch {
				case len(near) == 0:
					in, err := g.Info(ctx)
					return cmp.Or(err, error(&NoItemsError{in.Name}))
				case far && n < k+spare:
					return &FarError{n}
				case far:
					again = append(again, i)
				default:
					if err := found(i, &answers[j]); err != nil {
						return err
					}
				}
			}
		}
		todo = again
	}
	return nil
}
