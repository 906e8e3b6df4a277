package figure

import (
	"cmp"
	"fmt"
	"image/color"

	"gonum.org/v1/plot/vg/draw"
)

// Triplets is the triplet scatter diagram (Xuan et al., "Hard negative
// examples are hard, but useful", 2020): one mark per triplet at
// (S_ap, S_an), the similarities of the anchor to its positive and to its
// negative. Below the diagonal the triplet is right (S_ap > S_an), on or above
// it is wrong.
type Triplets struct {
	Axes
	AP, AN []float64
	Arrows []Arrow // where triplets move, optional
}

// Draw implements Figure.
func (t Triplets) Draw(c draw.Canvas, dpi float64) error {
	if len(t.AP) != len(t.AN) {
		return fmt.Errorf("triplets %q: %d S_ap and %d S_an values", t.Description(), len(t.AP), len(t.AN))
	}
	e := newExtent()
	m := marks{x: t.AP, y: t.AN, dpi: dpi}
	right := 0
	for i := range t.AP {
		if CanShow(t.AP[i], false) && CanShow(t.AN[i], false) {
			m.order = append(m.order, i)
			e.add(t.AP[i], t.AN[i])
			if t.AP[i] > t.AN[i] {
				right++
			}
		}
	}
	m.look = func(i int) (color.NRGBA, shape) {
		if t.AP[i] > t.AN[i] {
			return GoodColour, disc
		}
		return BadColour, disc
	}
	t.X, t.Y = cmp.Or(t.X, "S(anchor, positive)"), cmp.Or(t.Y, "S(anchor, negative)")
	if t.XRange == (Range{}) && t.YRange == (Range{}) && !e.empty() {
		// Cosines mostly fill [0, 1]; show more only where the data needs it.
		lo := min(0, e.x.Min, e.y.Min)
		hi := max(1, e.x.Max, e.y.Max)
		pad := 0.02 * (hi - lo)
		t.XRange = Range{lo - pad, hi + pad}
		t.YRange = t.XRange
	}
	t.Equal = true
	p, err := t.newPlot(e)
	if err != nil {
		return err
	}
	p.Add(grid{}, diagonal{}, &m, arrows(t.Arrows))
	n := len(m.order)
	share := func(k int) string { return fmt.Sprintf("%d (%.1f%%)", k, 100*float64(k)/float64(max(n, 1))) }
	entries := []entry{
		{label: "right " + share(right), colour: GoodColour},
		{label: "wrong " + share(n-right), colour: BadColour},
	}
	t.drawPlot(c, p, append(entries, droppedNote(len(t.AP)-n)...), e.empty())
	return nil
}
