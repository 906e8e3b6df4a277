package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
)

// tryPhotographs tries the share of strangers that get a label on the embeddings of photographs. Half of the classes
// calibrate with up to 30 photos each. Twenty others form the gallery with 15 each, and their remaining photos are
// known; the photos of the classes left are strangers. Distances are cosines. Without embeddings nothing is tried.
func tryPhotographs(ctx context.Context, a options, out func(promiseLine)) error {
	if a.embeddings == "" {
		return nil
	}
	e, err := embedding.Read(a.embeddings)
	if err != nil {
		return err
	}
	if len(e.Columns) == 0 {
		return fmt.Errorf("%s has no labels", a.embeddings)
	}
	of := make(map[string][]int)
	var names []string
	for i := range e.X.Rows {
		l := e.Columns[0].At(i)
		if of[l] == nil {
			names = append(names, l)
		}
		of[l] = append(of[l], i)
	}
	const gallery, shown, calibrating = 20, 15, 30
	half := len(names) / 2
	if len(names) < half+gallery+decide.MinStrangerClasses {
		return fmt.Errorf("%s has %d classes; at least %d are needed", a.embeddings, len(names),
			2*(gallery+decide.MinStrangerClasses))
	}
	t := newTries(fmt.Sprintf("photographs, %d classes, gallery of %d", half, gallery))
	for draw := range a.numTrials(10) {
		rng := rand.New(rand.NewPCG(a.seed, uint64(draw)))
		s := split{by: eval.Cosine}
		var rows []int
		var labels []int64
		for k, c := range rng.Perm(len(names)) {
			photos := of[names[c]]
			for n, i := range rng.Perm(len(photos)) {
				switch row := photos[i]; {
				case k < half && n < calibrating:
					rows, labels = append(rows, row), append(labels, int64(c))
				case k < half:
				case k >= half+gallery:
					s.strangers = append(s.strangers, row)
				case n < shown:
					s.gallery, s.names = append(s.gallery, row), append(s.names, names[c])
				default:
					s.known, s.right = append(s.known, row), append(s.right, names[c])
				}
			}
		}
		c, err := decide.Calibrate(ctx, selectRows(e.X, rows), labels, decide.Options{Distance: eval.Cosine})
		if err != nil {
			return err
		}
		if err := t.try(ctx, c, e.X, &s); err != nil {
			return err
		}
	}
	out(t.finish())
	return nil
}
