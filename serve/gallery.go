package serve

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/store"
)

// labels returns the counts of a collection's labels, current or a short time old. Without labels it has only
// the number of items.
func (s *Server) labels(ctx context.Context, c *collection, info *store.Info) (*labels, error) {
	if c.label(info) == "" {
		return &labels{Gallery: decide.Gallery{Items: info.Items}}, nil
	}
	return c.counted.get(ctx, c.background, info.Version, func(ctx context.Context) (labels, error) {
		count, err := s.gallery(c, info).LabelCounts(ctx)
		if err != nil {
			return labels{}, fmt.Errorf("collection %s: counting labels: %w", c.Name, err)
		}
		return labels{decide.Counted(count), count}, nil
	})
}

// labels counts the items of each label.
type labels struct {
	decide.Gallery
	count map[string]int
}

// measures returns the measures of a collection for decisions by a calibration, current or a short time old.
func (s *Server) measures(ctx context.Context, c *collection, info *store.Info, says *decide.Calibration, of *labels) (
	*decide.Measures, error) {
	now := c.measured.Load()
	if now == nil || now.by != says.ScoreID() {
		now = &measured{by: says.ScoreID()}
		c.measured.Store(now)
	}
	m, err := now.get(ctx, c.background, info.Version, func(ctx context.Context) (*decide.Measures, error) {
		m, err := s.gallery(c, info).Measure(ctx, says, of.count)
		if err != nil {
			err = fmt.Errorf("collection %s: comparing the items of a class: %w", c.Name, err)
		}
		return m, err
	})
	if err != nil {
		return nil, err
	}
	return *m, nil
}

// measured has measures by a calibration, whose Calibration.ScoreID is by.
type measured struct {
	by string
	refreshed[*decide.Measures]
}

// decider keeps the last Decider of a collection, as most requests have the same options and items.
func (c *collection) decider(of lookup.Basis) (*decide.Decider, error) {
	if last := c.decides.Load(); last != nil && last.Basis == of {
		return last.Decider, nil
	}
	d, err := of.Decider()
	if err == nil {
		c.decides.Store(&decides{of, d})
	}
	return d, err
}

// decides is a Decider with what it was made from.
type decides struct {
	lookup.Basis
	*decide.Decider
}
