package suspects

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/kindred-ml/kindred/internal/page/review"
)

// Rows returns suspects.csv: a line for each suspect.
func (r *Report) Rows() [][]string {
	rows := [][]string{{"id", "path", "label", "suggested", "score", "reason"}}
	for _, s := range r.Suspects {
		rows = append(rows, []string{s.ID, s.Path, s.Label, s.Suggested, fmt.Sprintf("%.4f", s.Score),
			s.Reason})
	}
	return rows
}

// OverlapRows returns overlaps.csv: a line for each pair of classes that overlap.
func (r *Report) OverlapRows() [][]string {
	rows := [][]string{{"a", "b", "mixing", "low", "high"}}
	for _, p := range r.Overlaps {
		rows = append(rows, []string{p.A, p.B, fmt.Sprintf("%.3f", p.Mixing), fmt.Sprintf("%.3f", p.Low),
			fmt.Sprintf("%.3f", p.High)})
	}
	return rows
}

// Manifest returns the table for training, with the suggested labels or, with drop, without
// the suspected items.
func (r *Report) Manifest(s *review.Subjects, drop bool) [][]string {
	to := map[int]string{}
	for _, found := range r.Suspects {
		if found.wrong {
			to[found.item] = found.Suggested
		}
	}
	label := func(i int) string { return cmp.Or(to[i], s.Label(i)) }
	keep := func(i int) bool { return !drop || to[i] == "" }
	return s.Manifest(label, nil, keep)
}

// CopyCount returns the number of copies as text.
func (r *Report) CopyCount() string {
	if !r.Pictures {
		return "not searched"
	}
	return strconv.Itoa(r.Duplicates)
}
