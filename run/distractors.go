package run

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/train"
)

// distractorMetric is Recall@1 of the validation samples among each other, with
// training samples of other classes as distractors:
//
//	share of queries whose nearest item, of the other validation samples and of the
//	training samples with another label than the query's, has the query's label
//
// Training samples of the query's own class are left out: they were trained on and are easy
// to find. Without distractors, few validation classes are told apart from the start, and
// plain Recall@1 stays near its ceiling. MAP@R keeps rising while a class is pulled
// together, even if that destroys the sub-classes within it.
const distractorMetric = "recall@1+distractors"

// distractorKey is its key among the scores.
var distractorKey = train.Metric{Set: ValidationSet.String(), Column: fineColumn, Name: distractorMetric}.Key()

// mostDistractors bounds the training samples that are embedded for it.
const mostDistractors = 5000

// addDistractors adds training samples to the gallery of the validation samples.
func (s *scored) addDistractors(cfg *Config, training *data.Part, bytes bool) (err error) {
	if s.set != ValidationSet || s.gallery != nil || cfg.Train.Best != distractorKey {
		return nil
	}
	s.dfeed, err = newFeed(spread(training, mostDistractors), cfg.Data, cfg.Train.Seed, false, bytes)
	return err
}

// amongDistractors is the value of distractorMetric for the embeddings as last scored.
func (s *scored) amongDistractors(ctx context.Context, net train.Network, batch int, distance rank.Distance) (float64,
	error) {
	d, err := embed(ctx, net, s.dfeed, batch)
	if err != nil {
		return 0, err
	}
	hits, queries, err := hitsAmong(ctx, s.q.X, s.q.Fine(), d.X, d.Fine(), distance)
	if err != nil {
		return 0, fmt.Errorf("the %s samples among training samples: %w", s.set, err)
	}
	return float64(hits) / float64(max(queries, 1)), nil
}

// hitsAmong counts the queries that have another of their label and whose nearest item
// does so, and those that have one. At equal distances queries come before
// distractors, and lower rows before higher ones.
func hitsAmong(ctx context.Context, x *mat.Dense, labels []int64, d *mat.Dense, others []int64,
	distance rank.Distance) (hits, queries int, err error) {
	count, same := map[int64]int{}, map[int64]int{}
	for _, y := range labels {
		count[y]++
	}
	most := 0
	for _, y := range others {
		if same[y]++; count[y] > 0 {
			most = max(most, same[y])
		}
	}
	near, err := rank.Nearest(ctx, x, nil, 1, rank.Options{Distance: distance})
	if err != nil {
		return 0, 0, err
	}
	k := min(most+1, d.Rows)
	far, err := rank.Nearest(ctx, x, d, k, rank.Options{Distance: distance})
	if err != nil {
		return 0, 0, err
	}
	for i, y := range labels {
		if count[y] < 2 {
			continue
		}
		queries++
		if labels[near.Row[i]] != y {
			continue
		}
		hit := true
		for j := i * k; j < (i+1)*k; j++ {
			if others[far.Row[j]] != y {
				hit = !nearer(distance, far.Value[j], near.Value[i])
				break
			}
		}
		if hit {
			hits++
		}
	}
	return hits, queries, nil
}

// nearer compares two values of rank.Neighbours: squared distances or similarities.
func nearer(distance rank.Distance, a, b float64) bool {
	if distance == rank.Euclidean {
		return a < b
	}
	return a > b
}
