package calibrate

import (
	"context"
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/matrix"
)

// maxPrintedFailed is the most names of failed photos that are printed.
const maxPrintedFailed = 5

// maxComparedFailed is the most photos that are compared with each other.
const maxComparedFailed = 60_000

// LeaveOutFailed leaves the failed photos out of New, and prints a remark with the rule.
func (s *Photos) LeaveOutFailed(ctx context.Context) error {
	if s.New.X == nil || s.opt.KeepFailed {
		return nil
	}
	if n := s.New.X.Rows; n > maxComparedFailed {
		fmt.Fprintf(s.opt.Remarks, "failed photos are not looked for among more than %d photos (%d)\n",
			maxComparedFailed, n)
		return nil
	}
	rows, err := clean.FindFailedPhotos(ctx, s.New.X, s.New.Labels, s.Distance)
	if err != nil || len(rows) == 0 {
		return err
	}
	s.Failed = []string{}
	out := make(map[int]bool)
	for _, i := range rows {
		out[i] = true
		s.Failed = append(s.Failed, s.name(i))
	}
	same := s.strangers.X != nil && s.strangers.X == s.New.X
	s.New = leaveOutRows(s.New, out)
	if same {
		s.strangers = leaveOutRows(s.strangers, out)
	}
	var some []string
	for _, n := range s.Failed[:min(len(s.Failed), maxPrintedFailed)] {
		some = append(some, escape.Name(n))
	}
	more := ""
	if n := len(s.Failed) - maxPrintedFailed; n > 0 {
		more = fmt.Sprintf(" and %d more, which --json lists", n)
	}
	fmt.Fprintf(s.opt.Remarks, "left out %s, in groups of %d or more of %d classes or more that are nearly the same "+
		"(at most a quarter of the usual distance within a class apart): %s%s; --keep-failed keeps them\n",
		enum.Count(len(rows), "failed photo"), clean.MinFailedPhotos, clean.MinFailedClasses,
		strings.Join(some, ", "), more)
	return nil
}

// leaveOutRows returns the photos whose rows are not out.
func leaveOutRows(l decide.LabelledEmbeddings, out map[int]bool) decide.LabelledEmbeddings {
	var kept decide.LabelledEmbeddings
	var rows []float32
	for i, c := range l.Labels {
		if !out[i] {
			rows, kept.Labels = append(rows, l.X.Row(i)...), append(kept.Labels, c)
		}
	}
	kept.X = matrix.FromSlice(len(kept.Labels), l.X.Cols, rows)
	return kept
}
