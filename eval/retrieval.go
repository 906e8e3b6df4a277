package eval

import (
	"context"

	"github.com/kindred-ml/kindred/internal/compute/cluster"
	"github.com/kindred-ml/kindred/matrix"
)

// measureRecall computes Recall@1 by coarse and fine labels, overall and for each class.
func (r *Diagnosis) measureRecall(ctx context.Context, in DiagnosisInput, s *sample, o DiagnosisOptions) error {
	set := Set{X: in.X, Labels: [][]int64{in.Labels}}
	if in.Fine != nil {
		set.Labels = append(set.Labels, in.Fine)
	}
	at := make(map[int64]int, len(r.Classes))
	for c := range r.Classes {
		at[r.Classes[c].Label] = c
	}
	var queries, hits [2]float64
	own := make([]float64, len(r.Classes))
	var right, ordered float64 // neighbours of the query's class, and of its fine label too
	inClass := false
	err := RankPositives(ctx, set, nil, RankOptions{Distance: o.Distance, FirstOnly: true, Depth: 1},
		func(q RankedQuery) {
			hit := len(q.Ranks) > 0
			if q.Column == 0 {
				inClass = hit
			}
			if q.Positives == 0 {
				return
			}
			queries[q.Column]++
			if q.Column == 1 && inClass {
				right++
				if hit {
					ordered++
				}
			}
			if !hit {
				return
			}
			hits[q.Column]++
			if q.Column == 0 {
				own[at[in.Labels[q.Index]]]++
			}
		})
	if err != nil {
		return err
	}
	r.Recall = hits[0] / queries[0]
	r.Chance = s.chanceRecall()
	for c := range r.Classes {
		if n := r.Classes[c].Size; n > 1 {
			r.Classes[c].Recall = own[c] / float64(n)
		}
	}
	if in.Fine == nil {
		return nil
	}
	if queries[1] == 0 {
		r.Notes = append(r.Notes, "no two rows share a fine label, so the order within classes is unknown")
		return nil
	}
	recall, chance := hits[1]/queries[1], s.chanceFineRecall()
	gain := 0.0
	if chance < 1 && right > 0 {
		gain = (ordered/right - chance) / (1 - chance)
	}
	r.FineRecall, r.FineChance, r.FineGain = new(recall), new(chance), new(gain)
	return nil
}

// chanceRecall returns the share of pairs of rows that are of one class, including pairs of a row with
// itself.
func (s *sample) chanceRecall() float64 {
	chance := 0.0
	for _, y := range s.order {
		chance += float64(len(s.members[y])) * float64(len(s.members[y]))
	}
	n := float64(s.x.Rows)
	return chance / (n * n)
}

// chanceFineRecall returns the expected fine Recall@1 if the neighbour is a random other row of the coarse
// class, over the queries that have a fine positive.
func (s *sample) chanceFineRecall() float64 {
	type pair struct{ coarse, fine int64 }
	both := make(map[pair]int)
	fine := make(map[int64]int)
	for i, y := range s.labels {
		both[pair{y, s.fine[i]}]++
		fine[s.fine[i]]++
	}
	var sum, n float64
	for i, y := range s.labels {
		if fine[s.fine[i]] < 2 {
			continue
		}
		n++
		if size := len(s.members[y]); size > 1 {
			sum += float64(both[pair{y, s.fine[i]}]-1) / float64(size-1)
		}
	}
	return sum / n
}

// ClusteringDiagnosis is a point of the curve of NMI (arithmetic mean) against the number of clusters.
type ClusteringDiagnosis struct {
	K       int      `json:"k"`
	NMI     float64  `json:"nmi"`
	FineNMI *float64 `json:"fine_nmi,omitempty"`
}

// curveFactors are the numbers of clusters for each class on the curve.
var curveFactors = [...]int{1, 2, 3, 5, 10, 20, 30}

// curveRows is the largest number of rows that are clustered for the curve.
const curveRows = 20000

func (r *Diagnosis) measureCurve(ctx context.Context, in DiagnosisInput, s *sample, o DiagnosisOptions) error {
	rows := s.draw(s.allRows(), curveRows, 8)
	x := s.x
	if len(rows) < x.Rows {
		x = matrix.New(len(rows), s.x.Cols)
		for e, i := range rows {
			copy(x.Row(e), s.x.Row(i))
		}
	}
	pick := func(labels []int64) []int64 {
		out := make([]int64, len(rows))
		for e, i := range rows {
			out[e] = labels[i]
		}
		return out
	}
	coarse := pick(in.Labels)
	for _, f := range curveFactors {
		k := f * len(s.order)
		if k > x.Rows/2 || k > o.MaxK {
			break
		}
		res, err := cluster.KMeans(ctx, x, cluster.Config{K: k, Iterations: 30, Seed: o.Seed})
		if err != nil {
			return err
		}
		t, err := cluster.NewTable(coarse, res.Assignment)
		if err != nil {
			return err
		}
		point := ClusteringDiagnosis{K: k, NMI: t.NMI(cluster.Arithmetic)}
		if in.Fine != nil {
			t, err := cluster.NewTable(pick(in.Fine), res.Assignment)
			if err != nil {
				return err
			}
			point.FineNMI = new(t.NMI(cluster.Arithmetic))
		}
		r.Curve = append(r.Curve, point)
	}
	return nil
}
