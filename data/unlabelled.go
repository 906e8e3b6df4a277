package data

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/option"
)

// reasonUnlabelled is the start of the reason for leaving out samples without a label: an empty field, a null
// or a missing key.
const reasonUnlabelled = "without the label that others have"

// noLabelReason returns the reason for leaving out samples without a label in a column.
func noLabelReason(column string) string { return reasonUnlabelled + " (" + column + ")" }

// CheckLabels returns an error if samples were left out because they lack a label that others have; see
// OpenOptions.Strict.
func (d *Dataset) CheckLabels() error {
	for _, l := range d.LeftOut {
		if strings.HasPrefix(l.Reason, reasonUnlabelled) {
			return option.Errorf("data set %s: %d samples are %s, such as %s: they are left out without %s", d.Name,
				l.Count, l.Reason, l.First[0], optStrict)
		}
	}
	return nil
}

// labelledRows returns t without the rows that lack a label in one of the columns. d counts these rows.
func (d *Dataset) labelledRows(t *embedding.Table, columns []string) (*embedding.Table, error) {
	out := map[int]bool{}
	for _, name := range columns {
		c := t.Column(name)
		if c == nil {
			continue
		}
		for i := range t.Rows() {
			if c.Missing(i) && !out[i] {
				out[i] = true
				d.LeftOut = countLeftOut(d.LeftOut, noLabelReason(name), t.Files[i])
			}
		}
	}
	if len(out) > 0 && len(out) == t.Rows() {
		return nil, fmt.Errorf("no row has a label%s", leftOutSentence(d.LeftOut))
	}
	return t.WithoutRows(slices.Sorted(maps.Keys(out))), nil
}
