package shards

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/matrix"
)

func randomSet(seed uint64, n int) eval.Set {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := eval.Set{X: matrix.New(n, 3), Labels: [][]int64{make([]int64, n), make([]int64, n)}}
	for i := range n {
		for j := range 3 {
			s.X.Row(i)[j] = rng.Float32()
		}
		s.Labels[0][i], s.Labels[1][i] = int64(rng.IntN(4))-1, int64(i) // the second has no positives
	}
	return s
}

// TestRanking: what shards come to is what eval.RankPositives comes to.
func TestRanking(t *testing.T) {
	q, g := randomSet(1, 50), randomSet(2, 70)
	self := make([]int32, 50)
	for i := range self {
		self[i] = int32(i*7%71) - 1
	}
	for _, gallery := range []*eval.Set{nil, &g} {
		for _, opt := range []eval.RankOptions{{}, {Distance: eval.Dot, FirstOnly: true}, {Depth: 4},
			{SelfRows: self}} {
			if gallery == nil && opt.SelfRows != nil {
				continue
			}
			var want, got []string
			if err := eval.RankPositives(t.Context(), q, gallery, opt, func(v eval.RankedQuery) {
				want = append(want, fmt.Sprint(v))
			}); err != nil {
				t.Fatal(err)
			}
			k := &WorkerKit{}
			r := &Ranking{Runner: &jobs.Local{Kinds: k.Kinds(), Parallel: 2, Dir: t.TempDir()}, Rows: 17}
			if err := r.Positives(t.Context(), q, gallery, opt, func(v eval.RankedQuery) {
				got = append(got, fmt.Sprint(v))
			}); err != nil {
				t.Fatal(err)
			}
			k.Close()
			if len(r.Jobs) != 3 || !slices.Equal(got, want) {
				t.Errorf("%+v: %d jobs; %d and %d visits", opt, len(r.Jobs), len(got), len(want))
			}
		}
	}
}

// TestRankingFails: an error of a job is the ranking's.
func TestRankingFails(t *testing.T) {
	broken := jobs.Kinds{rankKind: func(context.Context, jobs.Task) ([]byte, error) { return []byte{1, 200}, nil }}
	r := &Ranking{Runner: &jobs.Local{Kinds: broken, Parallel: 1, Dir: t.TempDir()}}
	err := r.Positives(t.Context(), randomSet(1, 5), nil, eval.RankOptions{}, func(eval.RankedQuery) {})
	if err == nil || !strings.Contains(err.Error(), "queries 0 to 4: a damaged result") {
		t.Error(err)
	}
}

func FuzzReadRanks(f *testing.F) {
	var b []byte
	for i := range 3 {
		b = addRanks(b, eval.RankedQuery{Index: i, Positives: 2, Ranks: []int32{1, 300}})
	}
	f.Add(b)
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 20))
	f.Fuzz(func(t *testing.T, b []byte) {
		var again []byte
		err := readRanks(b, 0, 3, 1, func(q eval.RankedQuery) {
			if len(q.Ranks) > q.Positives || !slices.IsSorted(q.Ranks) {
				t.Errorf("%+v", q)
			}
			again = addRanks(again, q)
		})
		if err == nil && len(again) > len(b) {
			t.Errorf("%d bytes from %d", len(again), len(b))
		}
	})
}

func FuzzReadSet(f *testing.F) {
	var b bytes.Buffer
	if err := writeSet(&b, randomSet(1, 4)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()-1])
	f.Add(append(b.Bytes(), 0))
	f.Add([]byte("{\"rows\":1000000000,\"cols\":1000000000,\"columns\":1}\n"))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := readSet(bytes.NewReader(b))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := writeSet(&again, s); err != nil {
			t.Fatal(err)
		}
		_, x, _ := bytes.Cut(b, []byte("\n"))
		_, y, _ := bytes.Cut(again.Bytes(), []byte("\n"))
		if !bytes.Equal(x, y) {
			t.Error("another set is written")
		}
	})
}
