package retrieval

import (
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

// newLine places items on a line at the given positions.
func newLine(at ...float32) *matrix.Dense { return matrix.FromSlice(len(at), 1, at) }

func queryLabels(q report.RetrievalRow) string {
	s := q.Item.Label + ":"
	for _, n := range q.Neighbours {
		mark := "-"
		if n.Match == report.RightMatch {
			mark = "+"
		}
		s += " " + n.Label + mark
	}
	return s
}

func TestChooseWorst(t *testing.T) {
	// Item 4 (label 1) lies among label 2: its nearest own item is fifth.
	x := newLine(0, 1, 2, 3, 20, 19, 21, 22, 25)
	labels := []int64{1, 1, 1, 1, 1, 2, 2, 2, 3}
	name := func(i int) string { return fmt.Sprint("i", i) }
	p, err := ChooseQueries(context.Background(), x, labels, Config{Queries: 2, Neighbours: 3, Label: name})
	if err != nil {
		t.Fatal(err)
	}
	if got := queryLabels(p.Worst.Rows[0]); got != "i4: i5- i6- i7-" || p.FirstRight[0] != 5 {
		t.Errorf("worst %q, first right at %v", got, p.FirstRight)
	}
	if got := queryLabels(p.Worst.Rows[1]); got != "i5: i4- i6+ i7+" || p.FirstRight[1] != 2 {
		t.Errorf("second worst %q, first right at %v", got, p.FirstRight)
	}
	for _, r := range p.Random.Rows {
		if r.Item.Label == "i8" {
			t.Error("an item without another of its label is a query")
		}
	}
	if !strings.Contains(p.Worst.Caption, "rank 2 to 5") {
		t.Errorf("caption %q", p.Worst.Caption)
	}
}

func TestChooseLeavesSelfOutByIndex(t *testing.T) {
	// Duplicates at distance 0: the query's own row is left out, not the first.
	x := newLine(5, 5, 5, 9)
	p, err := ChooseQueries(context.Background(), x, []int64{1, 1, 1, 1},
		Config{Queries: 4, Neighbours: 2, Label: func(i int) string { return fmt.Sprint(i) }})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range append(p.Random.Rows, p.Worst.Rows...) {
		if len(r.Neighbours) != 2 {
			t.Errorf("%q", queryLabels(r))
		}
		for _, n := range r.Neighbours {
			if n.Label == r.Item.Label {
				t.Errorf("item %s is its own neighbour", n.Label)
			}
		}
	}
}

func TestChooseSeed(t *testing.T) {
	var at []float32
	labels := make([]int64, 50)
	for i := range 50 {
		at = append(at, float32(i))
	}
	pick := func(seed uint64) string {
		p, err := ChooseQueries(context.Background(), newLine(at...), labels,
			Config{Queries: 3, Seed: seed, Label: func(i int) string { return fmt.Sprint(i) }})
		if err != nil {
			t.Fatal(err)
		}
		s := ""
		for _, r := range p.Random.Rows {
			s += r.Item.Label + " "
		}
		return s
	}
	first, again, other := pick(1), pick(1), pick(2)
	if first != again || first == other {
		t.Errorf("seed 1 chooses %q and %q, seed 2 %q", first, again, other)
	}
}

func TestChooseRefuses(t *testing.T) {
	ctx := context.Background()
	boom := errors.New("boom")
	for want, f := range map[string]func() error{
		"no neighbours": func() error { _, err := ChooseQueries(ctx, newLine(1), []int64{1}, Config{}); return err },
		"1 labels for 2": func() error {
			_, err := ChooseQueries(ctx, newLine(1, 2), []int64{1},
				Config{})
			return err
		},
		"shares its label": func() error {
			_, err := ChooseQueries(ctx, newLine(1, 2), []int64{1, 2},
				Config{})
			return err
		},
		"-1 queries": func() error {
			_,
				err := ChooseQueries(ctx, newLine(1, 2), []int64{1, 1}, Config{Queries: -1})
			return err
		},
		"NaN": func() error {
			_,
				err := ChooseQueries(ctx, newLine(1, float32(math.NaN())), []int64{1, 1}, Config{})
			return err
		},
		"picture of item": func() error {
			_, err := ChooseQueries(ctx, newLine(1, 2), []int64{1, 1},
				Config{Picture: func(int) (image.Image, error) { return nil, boom }})
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestChooseStops(t *testing.T) {
	x := matrix.New(300, 1)
	labels := make([]int64, x.Rows)
	for i := range labels {
		x.Row(i)[0], labels[i] = float32(i), int64(i%20)
	}
	ctxtest.CheckStops(t, 50, func(ctx context.Context) error {
		_, err := ChooseQueries(ctx, x, labels, Config{})
		return err
	})
}
