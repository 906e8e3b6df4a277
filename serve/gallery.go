package serve

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/store"
)

// countLabels returns the counts of a collection's labels, current or a short time old. Without labels it has only
// the number of items.
func (s *Server) countLabels(ctx context.Context, c *servedCollection, info *store.Info) (*labelCounts, error) {
	if c.classColumn(info) == "" {
		return &labelCounts{Gallery: decide.Gallery{Items: info.Items}}, nil
	}
	return c.labelCounts.get(ctx, c.backgroundWork, info.Version, func(ctx context.Context) (labelCounts, error) {
		count, err := s.galleryOf(c, info).LabelCounts(ctx)
		if err != nil {
			return labelCounts{}, fmt.Errorf("collection %s: counting labels: %w", c.Name, err)
		}
		return labelCounts{decide.NewGalleryFromCounts(count), count}, nil
	})
}

// labelCounts counts the items of each label.
type labelCounts struct {
	decide.Gallery
	count map[string]int
}

// measureGallery returns the measures of a collection for decisions by a calibration, current or a short time old.
func (s *Server) measureGallery(ctx context.Context, c *servedCollection, info *store.Info,
	says *decide.Calibration, of *labelCounts) (
	*decide.Measures, error) {
	now := c.measuresCache.Load()
	if now == nil || now.by != says.ScoreID() {
		now = &cachedMeasures{by: says.ScoreID()}
		c.measuresCache.Store(now)
	}
	m, err := now.get(ctx, c.backgroundWork, info.Version, func(ctx context.Context) (*decide.Measures, error) {
		m, err := s.galleryOf(c, info).Measure(ctx, says, of.count)
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

// cachedMeasures has measures by a calibration, whose Calibration.ScoreID is by.
type cachedMeasures struct {
	by string
	refreshedValue[*decide.Measures]
}

// decider keeps the last Decider of a collection, as most requests have the same options and items.
func (c *servedCollection) decider(of lookup.Basis) (*decide.Decider, error) {
	if last := c.deciderCache.Load(); last != nil && last.Basis == of {
		return last.Decider, nil
	}
	d, err := of.Decider()
	if err == nil {
		c.deciderCache.Store(&cachedDecider{of, d})
	}
	return d, err
}

// cachedDecider is a Decider with what it was made from.
type cachedDecider struct {
	lookup.Basis
	*decide.Decider
}
