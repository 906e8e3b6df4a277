package shards

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/matrix"
)

// rankSpec is a shard of a ranking: the queries from From up to To.
type rankSpec struct {
	Queries  string        `json:"queries"`           // file of the queue with the set of queries
	Gallery  string        `json:"gallery,omitempty"` // file of the gallery; "": the queries are the gallery
	Distance eval.Distance `json:"distance"`
	Depth    int           `json:"depth,omitempty"`
	First    bool          `json:"first,omitempty"`
	From     int           `json:"from"`
	To       int           `json:"to"`
	// Self has the row of the gallery that each query of the shard itself is, or -1; nil if none is one.
	Self []int32 `json:"self,omitempty"`
}

// Ranking makes the workers of a queue rank sets, in shards.
type Ranking struct {
	Runner interface {
		jobs.Runner
		jobs.Files
	}
	// Rows is the number of queries of a shard (default 4096).
	Rows int
	// Jobs are the finished jobs, whose results the caller removes after writing its own.
	Jobs []jobs.Job
}

// Positives is eval.RankPositives done by workers.
func (r *Ranking) Positives(ctx context.Context, queries eval.Set, gallery *eval.Set, opt eval.RankOptions,
	visit func(eval.RankedQuery)) error {
	s := rankSpec{Distance: opt.Distance, Depth: opt.Depth, First: opt.FirstOnly}
	var err error
	if s.Queries, err = r.storeSet(ctx, queries); err != nil {
		return err
	}
	if gallery != nil {
		if s.Gallery, err = r.storeSet(ctx, *gallery); err != nil {
			return err
		}
	}
	n, rows := queries.X.Rows, max(1, cmp.Or(r.Rows, 4096))
	for s.From = 0; s.From < n; s.From += rows {
		s.To = min(n, s.From+rows)
		if opt.SelfRows != nil {
			s.Self = opt.SelfRows[s.From:s.To]
		}
		j, err := jobs.New(rankKind, s)
		if err != nil {
			return err
		}
		j.Title = fmt.Sprintf("eval: queries %d to %d", s.From, s.To-1)
		r.Jobs = append(r.Jobs, j)
	}
	results, err := r.Runner.Run(ctx, r.Jobs)
	if err != nil {
		return err
	}
	for i, result := range results {
		from, to := i*rows, min(n, (i+1)*rows)
		if err := readRanks(result.Output, from, to, len(queries.Labels), visit); err != nil {
			return fmt.Errorf("%s: %w", r.Jobs[i].Title, err)
		}
	}
	return nil
}

func (r *Ranking) storeSet(ctx context.Context, s eval.Set) (string, error) {
	name, err := r.Runner.Store(ctx, func(w io.Writer) error { return writeSet(w, s) })
	if err != nil {
		return "", fmt.Errorf("storing the embeddings in the queue: %w", err)
	}
	return name, nil
}

// rankedSets has the sets that shards of a ranking share.
type rankedSets struct {
	names   [2]string // files of the queries and of the gallery
	queries eval.Set
	gallery *eval.Set
}

// rank ranks a shard. Shards that come at the same time wait for each other: one uses
// all cores.
func (k *WorkerKit) rank(ctx context.Context, t jobs.Task) ([]byte, error) {
	var s rankSpec
	if err := t.Job().Decode(&s); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if names := [2]string{s.Queries, s.Gallery}; k.ranked == nil || k.ranked.names != names {
		r := &rankedSets{names: names}
		var err error
		if r.queries, err = openSet(ctx, t, s.Queries); err != nil {
			return nil, err
		}
		if s.Gallery != "" {
			g, err := openSet(ctx, t, s.Gallery)
			if err != nil {
				return nil, err
			}
			r.gallery = &g
		}
		k.ranked = r
	}
	n := k.ranked.queries.X.Rows
	if s.From < 0 || s.From >= s.To || s.To > n || s.Self != nil && len(s.Self) != s.To-s.From {
		return nil, fmt.Errorf("queries %d to %d of %d, of which %d are items", s.From, s.To, n, len(s.Self))
	}
	opt := eval.RankOptions{Distance: s.Distance, Depth: s.Depth, FirstOnly: s.First, From: s.From, To: s.To,
		Progress: func(done float64) { t.Report(fmt.Sprintf("%.0f %%", 100*done)) }}
	if s.Self != nil {
		opt.SelfRows = slices.Repeat([]int32{-1}, n)
		copy(opt.SelfRows[s.From:], s.Self)
	}
	var out []byte
	err := eval.RankPositives(ctx, k.ranked.queries, k.ranked.gallery, opt,
		func(q eval.RankedQuery) { out = addRanks(out, q) })
	return out, err
}

// addRanks appends R, the number of ranks and their differences. Queries and columns
// come in order.
func addRanks(b []byte, q eval.RankedQuery) []byte {
	b = binary.AppendUvarint(b, uint64(q.Positives))
	b = binary.AppendUvarint(b, uint64(len(q.Ranks)))
	last := int32(0)
	for _, r := range q.Ranks {
		b = binary.AppendUvarint(b, uint64(r-last))
		last = r
	}
	return b
}

var errDamaged = errors.New("a damaged result")

// readRanks reads what addRanks wrote of the queries from..to-1.
func readRanks(b []byte, from, to, columns int, visit func(eval.RankedQuery)) error {
	bad := false
	next := func(most int64) int64 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > uint64(most) {
			bad, b = true, nil
			return 0
		}
		b = b[n:]
		return int64(v)
	}
	var ranks []int32
	for i := from; i < to; i++ {
		for c := range columns {
			q := eval.RankedQuery{Index: i, Column: c, Positives: int(next(math.MaxInt32))}
			ranks = ranks[:0]
			last := int64(0)
			// A rank takes a byte at least.
			for range next(int64(min(len(b), q.Positives))) {
				last += next(math.MaxInt32 - last)
				ranks = append(ranks, int32(last))
			}
			if bad {
				return errDamaged
			}
			q.Ranks = ranks
			visit(q)
		}
	}
	if len(b) > 0 {
		return errDamaged
	}
	return nil
}

// setHead is the head of a set, as a line of JSON. The labels of each column
// follow as int64, then the rows as float32, little-endian.
type setHead struct {
	Rows    int `json:"rows"`
	Cols    int `json:"cols"`
	Columns int `json:"columns"`
}

func writeSet(w io.Writer, s eval.Set) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := json.NewEncoder(b).Encode(setHead{s.X.Rows, s.X.Cols, len(s.Labels)}); err != nil {
		return err
	}
	for _, labels := range s.Labels {
		if err := binary.Write(b, binary.LittleEndian, labels); err != nil {
			return err
		}
	}
	for i := range s.X.Rows {
		if err := binary.Write(b, binary.LittleEndian, s.X.Row(i)); err != nil {
			return err
		}
	}
	return b.Flush()
}

func openSet(ctx context.Context, t jobs.Task, name string) (eval.Set, error) {
	r, err := t.Open(ctx, name)
	if err != nil {
		return eval.Set{}, fmt.Errorf("the embeddings: %w", err)
	}
	defer r.Close()
	s, err := readSet(r)
	if err != nil {
		return eval.Set{}, fmt.Errorf("the embeddings: %w", err)
	}
	return s, nil
}

func readSet(r io.Reader) (eval.Set, error) {
	var s eval.Set
	b := bufio.NewReaderSize(r, 1<<16)
	line, err := b.ReadSlice('\n')
	if err != nil {
		return s, fmt.Errorf("no beginning: %w", err)
	}
	var h setHead
	if err := strictjson.UnmarshalLoose(line, &h); err != nil {
		return s, err
	}
	if h.Rows < 1 || h.Cols < 1 || h.Columns < 1 {
		return s, fmt.Errorf("%d x %d numbers with %d columns of labels", h.Rows, h.Cols, h.Columns)
	}
	n := int64(h.Rows)
	size := budget.Sum(budget.Product(4, n, int64(h.Cols)), budget.Product(8, n, int64(h.Columns)))
	if err := budget.Check("the embeddings of a job", size); err != nil {
		return s, err
	}
	for range h.Columns {
		labels := make([]int64, h.Rows)
		if err := binary.Read(b, binary.LittleEndian, labels); err != nil {
			return s, err
		}
		s.Labels = append(s.Labels, labels)
	}
	s.X = matrix.New(h.Rows, h.Cols)
	for i := range h.Rows {
		if err := binary.Read(b, binary.LittleEndian, s.X.Row(i)); err != nil {
			return s, err
		}
	}
	if _, err := b.ReadByte(); !errors.Is(err, io.EOF) {
		return s, errors.Join(errors.New("more than its rows"), err)
	}
	return s, nil
}
