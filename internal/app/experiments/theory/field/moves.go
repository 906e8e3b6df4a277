package field

import "github.com/kindred-ml/kindred/internal/base/enum"

// Direction is where a triplet moves on the diagram: to the right where S_ap
// rises, up where S_an rises. Its text is "top right" and so on.
type Direction uint8

// The directions. TopRight is towards the singular point (1, 1), where all points
// are one; BottomRight is what a loss wants.
const (
	TopRight Direction = iota
	TopLeft
	BottomLeft
	BottomRight
)

// Directions returns all four, in their order.
func Directions() []Direction { return []Direction{TopRight, TopLeft, BottomLeft, BottomRight} }

var directionNames = enum.New[Direction]("Direction", "direction", "top right", "top left", "bottom left",
	"bottom right")

// String gives the text of d.
func (d Direction) String() string { return directionNames.Name(d) }

// MarshalText gives the text of d.
func (d Direction) MarshalText() ([]byte, error) { return directionNames.Marshal(d) }

// UnmarshalText reads the text of a Direction.
func (d *Direction) UnmarshalText(text []byte) error { return directionNames.Unmarshal(d, text) }

// Moves is how triplets moved on the diagram: the shares of the four directions
// among those that did. All are 0 if none did.
type Moves struct {
	TopRight    float64 `json:"top_right"`
	TopLeft     float64 `json:"top_left"`
	BottomLeft  float64 `json:"bottom_left"`
	BottomRight float64 `json:"bottom_right"`
}

// Share returns the share of one direction.
func (m Moves) Share(d Direction) float64 { return *m.shareOf(d) }

func (m *Moves) shareOf(d Direction) *float64 {
	switch d {
	case TopRight:
		return &m.TopRight
	case TopLeft:
		return &m.TopLeft
	case BottomLeft:
		return &m.BottomLeft
	}
	return &m.BottomRight
}

// CompareMoves compares the same triplets before and after. A triplet has moved if one of
// its similarities changed; one that stayed counts as risen, so that no movement
// along an edge of the diagram is taken for one that a loss wants.
func CompareMoves(before, after Scatter) Moves {
	var m Moves
	n := 0.0
	for k := range before.AP {
		dp, dn := after.AP[k]-before.AP[k], after.AN[k]-before.AN[k]
		if dp == 0 && dn == 0 {
			continue
		}
		n++
		*m.shareOf(direction(dp, dn))++
	}
	for _, d := range Directions() {
		*m.shareOf(d) /= max(n, 1)
	}
	return m
}

func direction(dp, dn float64) Direction {
	switch {
	case dp >= 0 && dn >= 0:
		return TopRight
	case dn >= 0:
		return TopLeft
	case dp < 0:
		return BottomLeft
	}
	return BottomRight
}
