package photo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// Album reads the thumbnails of a data set for the maps of a page. Maps of the same
// items share them. Reading takes at most Time in all.
type Album struct {
	Data *data.Dataset // nil without photos
	Time time.Duration // 0 for no limit

	spent time.Duration
	read  []albumPart
}

type albumPart struct {
	names   []string
	thumbs  *report.Thumbs
	missing int
}

// Close closes the data set.
func (a *Album) Close() error {
	if a.Data == nil {
		return nil
	}
	return a.Data.Close()
}

// AddThumbs gives a map the thumbnails of its items, and adds to its caption how many are
// missing. It does not change a map of items without names or of a set without
// photos. The only error is ctx.Err().
func (a *Album) AddThumbs(ctx context.Context, m *report.Map) error {
	if a.Data == nil || a.Data.Source == nil || m.Names == nil {
		return nil
	}
	i := slices.IndexFunc(a.read, func(p albumPart) bool { return slices.Equal(p.names, m.Names) })
	if i < 0 {
		most := a.Time
		if most > 0 {
			most = max(most-a.spent, time.Millisecond)
		}
		begun := time.Now()
		thumbs, missing, err := ReadThumbs(ctx, a.Data, m.Names, most)
		if err != nil {
			return err
		}
		a.spent += time.Since(begun)
		i, a.read = len(a.read), append(a.read, albumPart{m.Names, thumbs, missing})
	}
	m.Photos = a.read[i].thumbs
	if n := a.read[i].missing; n > 0 {
		m.Caption += fmt.Sprintf(" %d of the %d photos are not shown: not found, or not read in time.", n,
			len(m.Names))
	}
	return nil
}
