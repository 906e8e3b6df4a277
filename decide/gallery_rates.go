package decide

import "fmt"

// GalleryRates computes the probability that an item found in a gallery shows the same thing as the query photo.
// The zero value is not usable.
type GalleryRates struct {
	c     *Calibration
	prior float64
}

// GalleryRates returns the rates of a gallery. strangers is the share of query photos whose class is not in
// the gallery; 0 means the default of 1/2. In a gallery without labels (no Classes) every class
// counts as having as many items as the classes of the calibration had photos.
func (c *Calibration) GalleryRates(g Gallery, strangers float64) (*GalleryRates, error) {
	if strangers == 0 {
		strangers = DefaultStrangers
	}
	if !(strangers > 0 && strangers < 1) {
		return nil, fmt.Errorf("the share of strangers is %v: must be above 0 and below 1", strangers)
	}
	if g.Classes == 0 {
		g.Share = min(1, c.PerClass/float64(max(1, g.Items)))
	}
	return &GalleryRates{c, g.Prior(1 - strangers)}, nil
}

// MatchProbability returns the probability at a distance. It never rises with the distance.
func (a *GalleryRates) MatchProbability(distance float64) float64 {
	return a.c.MatchProbability(distance, a.prior)
}

// Percent formats a probability for people.
func Percent(p float64) string {
	switch {
	case p < 0.001:
		return "under 0.1 %"
	case p > 0.999:
		return "over 99.9 %"
	case p < 0.01 || p > 0.99:
		return fmt.Sprintf("%.1f %%", 100*p)
	}
	return fmt.Sprintf("%.0f %%", 100*p)
}
