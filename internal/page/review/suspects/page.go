package suspects

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/page/review"
)

// maxShown is the largest number of suspects that the page asks about.
const maxShown = 600

// Page returns the page that asks about every suspect. It shows the suspect beside the
// picture that it copies, or beside typical pictures of both classes.
func (r *Report) Page(ctx context.Context, s *review.Subjects) (*review.Page, error) {
	suspected := map[int]bool{}
	for _, found := range r.Suspects {
		suspected[found.item] = true
	}
	typical := map[string]int{} // an unsuspected item of each class
	for i := range s.Labels {
		if _, ok := typical[s.Label(i)]; !ok && !suspected[i] {
			typical[s.Label(i)] = i
		}
	}
	p := s.Page("Suspects")
	for _, found := range r.Suspects[:min(len(r.Suspects), maxShown)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		card := review.Card{Items: []int{found.item}, Title: found.Label + ": " + found.Path, Reason: found.Reason,
			Score: found.Score, Suggested: found.Suggested, Pictures: []review.Picture{s.PictureOf(found.item,
				found.Path)}}
		if found.beside >= 0 {
			card.Pictures = append(card.Pictures, s.PictureOf(found.beside, s.Name(found.beside)))
		}
		for _, class := range []string{found.Label, found.Suggested} {
			if i, ok := typical[class]; ok && found.wrong {
				card.Pictures = append(card.Pictures, s.PictureOf(i, "typical "+class))
			}
		}
		p.Cards = append(p.Cards, card)
	}
	p.Lead = fmt.Sprintf("Of %s %.1f %% are estimated to have a wrong label. Suspected labels: %d, copies: "+
		"%s, blank pictures: %d, items unlike all others: %d.", enum.Count(r.Items, "item"),
		100*r.Wrong, r.Labels, r.CopyCount(), r.Blank, r.Outliers)
	if n := len(r.Suspects) - maxShown; n > 0 {
		p.Lead += fmt.Sprintf(" suspects.csv has %d more.", n)
	}
	return p, nil
}
