package data

import (
	"strings"

	"github.com/kindred-ml/kindred/internal/base/option"
)

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
