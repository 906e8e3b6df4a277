package shards

import (
	"context"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/jobs"
)

// submitOnly is a Runner that only keeps the jobs.
type submitOnly struct{ list []jobs.Job }

var errSubmitted = errors.New("submitted")

func (s *submitOnly) Run(_ context.Context, list []jobs.Job) ([]jobs.Result, error) {
	s.list = append(s.list, list...)
	return nil, errSubmitted
}

func (*submitOnly) Forget(context.Context, []jobs.Job) error { return nil }
func (*submitOnly) Store(context.Context, func(io.Writer) error) (name string, err error) {
	return "", nil
}
func (*submitOnly) Open(context.Context, string) (io.ReadCloser, error) { return nil, errOpened }

// TestShards: the samples of a part are cut in their order, and a shard is another job if the content of one of its
// samples is another, so that no result of an earlier content is taken.
func TestShards(t *testing.T) {
	d := &data.Dataset{Name: "set", Names: []string{"a", "b", "c", "d", "e", "f"}}
	part := &data.Part{Data: d, Index: []int{0, 2, 3, 5}}
	ids := func(digests ...string) (ids []string) {
		r := &submitOnly{}
		s := &SharedDataset{Rows: 3, set: embedSet{Source: Source{Data: "set"}}, dim: 2, data: d, runner: r}
		if _, list, err := s.Embed(t.Context(), part, digests); !errors.Is(err, errSubmitted) || len(list) != 2 {
			t.Fatalf("%d jobs, %v", len(list), err)
		}
		var at [][2]int
		for _, j := range r.list {
			var spec embedSpec
			if err := j.Decode(&spec); err != nil {
				t.Fatal(err)
			}
			at, ids = append(at, spec.At...), append(ids, j.ID())
		}
		if want := [][2]int{{0, 1}, {2, 4}, {5, 6}}; !reflect.DeepEqual(at, want) {
			t.Errorf("%v, want %v", at, want)
		}
		return ids
	}
	first, same, other := ids("1", "2", "3", "4"), ids("1", "2", "3", "4"), ids("1", "2", "x", "4")
	if !reflect.DeepEqual(first, same) || first[0] == other[0] || first[1] != other[1] || first[0] == ids()[0] {
		t.Errorf("%v, %v, %v", first, same, other)
	}
}

// TestPositions: the ranges of a shard lead back to its samples, and ranges that are none of a set's are refused before
// they are counted out.
func TestPositions(t *testing.T) {
	for _, at := range [][]int{{0}, {3, 4, 5}, {0, 2, 3, 9}, {1, 3, 5, 7, 9}} {
		s := embedSpec{At: positionRanges(at)}
		if have, err := s.positions(10); err != nil || !reflect.DeepEqual(have, at) {
			t.Errorf("%v: %v, %v", at, have, err)
		}
	}
	if have := positionRanges([]int{0, 1, 2, 7, 8}); !reflect.DeepEqual(have, [][2]int{{0, 3}, {7, 9}}) {
		t.Error(have)
	}
	for _, at := range [][][2]int{{{-1, 2}}, {{0, 11}}, {{5, 5}}, {{5, 4}}, {{0, 5}, {4, 6}}, {{5, 6}, {0, 1}},
		{{0, math.MaxInt}}, {{math.MinInt, 0}}} {
		s := embedSpec{At: at}
		if have, err := s.positions(10); err == nil {
			t.Errorf("%v: %v", at, have)
		}
	}
}
