package run

import (
	"context"
	"errors"

	"github.com/kindred-ml/kindred/data"
)

// groupColumn is the column of a manifest that data.group asks for, "" if it names a
// rule.
func groupColumn(rule string) string {
	switch rule {
	case data.GroupNone, data.GroupFound, data.GroupFolder:
		return ""
	}
	return rule
}

// divide selects the samples. If data.group is unset and the network is pretrained,
// photographs in files of their own are searched for bursts, and the configuration records
// the result.
func (t *resolved) divide(ctx context.Context, d *data.Dataset, s data.Selection) (*data.Selected, error) {
	rule := &t.cfg.Data.Group
	s.Group = *rule
	if *rule != "" {
		return d.SelectContext(ctx, s)
	}
	*rule = data.GroupNone
	if !t.cfg.Network.pretrained() || !d.Files() || !lookAt(ctx, d).photographs() {
		return d.SelectContext(ctx, s)
	}
	s.Group = data.GroupFound
	sel, err := d.SelectContext(ctx, s)
	switch {
	case errors.Is(err, data.ErrTogether), err == nil && 2*sel.Kept.Whole > sel.Kept.Classes:
		t.note("data.group is %s: bursts are divided, as most classes are one burst each (data.group=%s keeps them "+
			"together nevertheless)", data.GroupNone, data.GroupFound)
		s.Group = data.GroupNone
		return d.SelectContext(ctx, s)
	case err == nil && sel.Kept.Groups > 0:
		*rule = data.GroupFound
	}
	return sel, err
}
