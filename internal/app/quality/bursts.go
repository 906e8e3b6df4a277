package quality

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
)

// Bursts holds the groups of photos that were taken together.
type Bursts struct {
	// First is the index of the first photo of each photo's group, or of the photo itself if it is
	// alone.
	First []int
	// Leak reports whether its group is on both sides of the split.
	Leak []bool
	// Why is the reason why bursts were not searched, or "".
	Why  string
	size map[int]int // sizes of the groups, by their first photos
}

// FindBursts groups the photos of a part as split.FindGroups does. side returns the side of the split that a
// photo is on, or "".
func FindBursts(ctx context.Context, p *data.Part, side func(i int) string) (*Bursts, error) {
	of, why, err := split.FindGroups(ctx, p)
	if err != nil {
		return nil, err
	}
	t := &Bursts{First: of, Leak: make([]bool, len(of)), Why: why}
	leaks := map[int]bool{}
	t.size = map[int]int{}
	for i, first := range of {
		t.size[first]++
		a, b := side(i), side(first)
		leaks[first] = leaks[first] || a != b && a != "" && b != ""
	}
	for i, first := range of {
		t.Leak[i] = leaks[first]
	}
	return t, nil
}

// Rows returns a table of all photos. It has a column path with the names, which kindred index --columns
// takes, a column of scores for each defect, whether the photo has any defect, the first photo of its
// group, and whether the group is on both sides of the split. t may be nil.
func (j *Scores) Rows(names []string, t *Bursts) [][]string {
	head := []string{"path"}
	for d := range NumDefects {
		head = append(head, d.String())
	}
	rows := [][]string{append(head, "defective", "burst", "leak")}
	for i, name := range names {
		row, any := []string{name}, false
		for d := range NumDefects {
			row = append(row, fmt.Sprintf("%.3f", j.Scores[i][d]))
			any = any || j.Has(i, d)
		}
		burst, leak := "", ""
		if t != nil {
			leak = fmt.Sprint(t.Leak[i])
			if t.IsGrouped(i) {
				burst = names[t.First[i]]
			}
		}
		rows = append(rows, append(row, fmt.Sprint(any), burst, leak))
	}
	return rows
}

// IsGrouped reports whether a photo was taken together with others.
func (t *Bursts) IsGrouped(i int) bool { return t.size[t.First[i]] > 1 }
