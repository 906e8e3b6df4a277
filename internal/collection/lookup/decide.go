package lookup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/serve/api"
)

// Basis is what decisions depend on. Two that are equal make equal Deciders.
type Basis struct {
	Calibration *decide.Calibration
	Known       *decide.Gallery  // the counts of the gallery's labels
	Measures    *decide.Measures // distances between its items; nil: not measured
	// ByClass computes sets of a coverage from a class's own items if it has enough.
	ByClass bool
	decide.IdentifyOptions
}

// Check refuses options that do not apply to the calibration and the gallery, with an *option.InapplicableError. given
// reports whether an option is given: fpir, estimate, strangers or by-class. It sets the others to their defaults, or
// to zero where they do not apply. file names the calibration. measured reports whether Measures are used.
func (b *Basis) Check(file string, given func(setting string) bool) (measured bool, err error) {
	by := b.Calibration.Basis(*b.Known, b.IdentifyOptions)
	for _, of := range []struct {
		setting string
		applies bool
		why     string
	}{
		{"fpir", by != decide.ClosedSetBasis,
			"a closed calibration gives every photo a label; kindred calibrate with " +
				"--folds or --data makes an open one, which recognises unknown photos"},
		{"estimate", by == decide.OpenSetBasis, "photos of the calibration are tried in galleries of other classes"},
		{"strangers", by == decide.OpenSetBasis, "the probability of a label is among the classes of the gallery"},
		{"by-class", by == decide.OpenSetBasis,
			"items that training saw lie closer to each other than new photos lie to " +
				"them, so sets use the photos of the calibration"},
	} {
		if given(of.setting) && !of.applies {
			return false, &option.InapplicableError{Setting: of.setting, To: file + ", which was learned from photos " +
				"of the classes of the gallery", Reason: of.why}
		}
	}
	b.FPIR, b.Strangers = cmp.Or(b.FPIR, decide.DefaultFPIR), cmp.Or(b.Strangers, decide.DefaultStrangers)
	if by == decide.ClosedSetBasis {
		b.FPIR = 0
	}
	if by != decide.OpenSetBasis {
		b.Strangers, b.ByClass = 0, false
	}
	b.ByClass = b.ByClass && b.Coverage > 0
	return by == decide.OpenSetBasis, nil
}

// Decider returns the rule of the decisions. Check must have been called.
func (b *Basis) Decider() (*decide.Decider, error) {
	known := *b.Known
	if b.Measures != nil {
		if known.Means, known.StrangerTrial = b.Measures.Means, b.Measures.StrangerTrial; b.ByClass {
			known.Spread = b.Measures.Spread
		}
	}
	return b.Calibration.Decider(known, b.IdentifyOptions)
}

// DecideOptions control how a Decider decides about queries.
type DecideOptions struct {
	Together bool // all queries are photos of one thing
	Voters   bool // keep the neighbours that voted
}

// TooManyNeighboursError is the error of a set of labels that needs more neighbours than one search of the
// gallery may bring.
type TooManyNeighboursError struct{ Most int }

func (e *TooManyNeighboursError) Error() string {
	return fmt.Sprintf("a set of this coverage needs more than %d neighbours, which is the limit", e.Most)
}

// NoItemsError is the error of a gallery without items besides the queries.
type NoItemsError struct{ Gallery string }

func (e *NoItemsError) Error() string { return e.Gallery + " has no items besides the photos" }

// Decide decides about every query, or about all queries together. Items that are one of the queries decided about have
// no vote. The errors include a *TooManyNeighboursError and a *NoItemsError.
func Decide(ctx context.Context, g Gallery, d *decide.Decider, queries []Query, opt DecideOptions) ([]Decision, error) {
	if opt.Together && len(queries) > 1 {
		one, err := decideTogether(ctx, g, d, queries, opt)
		return []Decision{one}, err
	}
	out := make([]Decision, len(queries))
	return out, searchUntilEnough(ctx, g, d, queries, 0, func(i int, found *api.Answer) (err error) {
		out[i] = Decision{Of: []int{i}}
		out[i].Query, out[i].Photos = queries[i].Name, 1
		out[i].PhotoIDs, out[i].PhotoLabels = found.QueryIDs, found.QueryLabels
		own := photoItems(found, &queries[i])
		if err = out[i].decide(d, queries[i:i+1], [][]api.Neighbour{found.Neighbours}, own, opt); err != nil {
			err = fmt.Errorf("%s: %w", out[i].Query, err)
		}
		return err
	})
}

// photoItems returns the items that are a query.
func photoItems(found *api.Answer, q *Query) (out []decide.Member) {
	for _, label := range found.QueryLabels {
		out = append(out, decide.Member{Label: label, Vector: q.Vector})
	}
	return out
}

// decide decides by the neighbours of each photo. itself has the items that are one of the photos.
func (q *Decision) decide(d *decide.Decider, queries []Query, near [][]api.Neighbour, itself []decide.Member,
	opt DecideOptions) error {
	photos := make([]decide.Photo, len(near))
	for k := range near {
		var voters []api.Neighbour
		photos[k] = decide.Photo{Vector: queries[k].Vector, Neighbours: VotingNeighbours(near[k]), SelfItems: itself}
		if opt.Voters {
			voters = slices.Clone(near[k][:min(len(near[k]), d.NumVoters())])
			for i := range voters {
				voters[i].Label = photos[k].Neighbours[i].Label
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
	q.Unknown, q.Nearest, q.Within, q.NeededProbability, q.Set = said.Unknown, said.Nearest, said.Within,
		said.NeededProbability, said.Set
	q.score = said.Score
	q.setAnswer()
	return err
}

// setAnswer sets the kind of answer. If items of the gallery are the photo, the answer is their label.
func (q *Decision) setAnswer() {
	switch {
	case len(q.PhotoIDs) > 0:
		others, labels := q.Vote, distinctLabels(q.PhotoLabels)
		q.Answer, q.Others, q.Vote = api.AnswerPicture, &others, api.Vote{}
		if len(labels) == 1 {
			q.Label, q.Probability = labels[0], 1
		}
		if others.Set != nil {
			q.Set = labels
		}
	case q.Unknown:
		q.Answer = api.AnswerUnknown
	default:
		q.Answer = api.AnswerLabel
	}
}

// distinctLabels returns the different labels among those of items, in order.
func distinctLabels(labels []string) []string {
	var out []string
	for _, l := range labels {
		if l = cmp.Or(l, decide.Unlabelled); !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// VotingNeighbours returns neighbours as a Decider takes them.
func VotingNeighbours(near []api.Neighbour) []decide.Neighbour {
	out := make([]decide.Neighbour, len(near))
	for i, n := range near {
		out[i] = decide.Neighbour{Label: cmp.Or(n.Label, decide.Unlabelled), Distance: n.Distance}
	}
	return out
}

// decideTogether decides about all queries as photos of one thing. Items that are one of them have no vote about the
// others either.
func decideTogether(ctx context.Context, g Gallery, d *decide.Decider, queries []Query, opt DecideOptions) (
	Decision, error) {
	n := len(queries)
	q, near, itself := Decision{}, make([][]api.Neighbour, n), map[string]string{}
	q.Query, q.Photos = queries[0].Name, n
	var own []decide.Member
	const spare = 64 // items of the other photos are left out too; few things have more photos
	err := searchUntilEnough(ctx, g, d, queries, min(n, spare), func(i int, found *api.Answer) error {
		near[i] = found.Neighbours
		for k, name := range found.QueryIDs {
			if _, again := itself[name]; !again {
				itself[name] = found.QueryLabels[k]
				own = append(own, decide.Member{Label: found.QueryLabels[k], Vector: queries[i].Vector})
			}
		}
		return nil
	})
	if err != nil {
		return q, err
	}
	for i := range near {
		near[i] = slices.DeleteFunc(near[i], func(n api.Neighbour) bool {
			_, is := itself[g.name(&n)]
			return is
		})
		if q.Of = append(q.Of, i); queries[i].Name != "" {
			q.Names = append(q.Names, queries[i].Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(itself)) {
		q.PhotoIDs, q.PhotoLabels = append(q.PhotoIDs, name), append(q.PhotoLabels, itself[name])
	}
	return q, q.decide(d, queries, near, own, opt)
}

const (
	searchBatch = 256     // queries looked up together
	maxPending  = 1 << 17 // most neighbours held at a time, some hundred bytes each
)

// searchUntilEnough calls found for each query, in any order, with all neighbours that decide about it, and
// spare ones more.
func searchUntilEnough(ctx context.Context, g Gallery, d *decide.Decider, queries []Query, spare int,
	found func(i int, answer *api.Answer) error) error {
	todo := lists.Indices(len(queries))
	for k := d.NumVoters(); len(todo) > 0; k *= 4 {
		var again []int
		n := maxResults(g, k+spare)
		for part := range slices.Chunk(todo, max(1, min(searchBatch, maxPending/n))) {
			answers, err := g.searchNear(ctx, lists.At(queries, part), n, &Options{Exact: true, bare: true})
			if err != nil {
				return err
			}
			for j, i := range part {
				near := answers[j].Neighbours
				far := len(near) == n && near[max(0, n-spare-1)].Distance <= d.SearchRadius()
				switch {
				case len(near) == 0:
					in, err := g.Info(ctx)
					return cmp.Or(err, error(&NoItemsError{in.Name}))
				case far && n < k+spare:
					return &TooManyNeighboursError{n}
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
