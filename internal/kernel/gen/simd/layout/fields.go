// Package layout has what the generators of all processors share: which kernels there are, their
// parameters, and where the fields of their arguments lie.
package layout

// Byte offsets of the fields of simd.Tile; its test compares them with the
// compiler's.
const (
	TileA = 8 * iota
	TileB
	TileC
	TileAdd
	TileAOff
	TileCOff
	TileAStep
	TileBStep
	TileARun
	TileBRun
	TileInner
	TileOuter
	TileATile
	TileCTile
	TileAOffTile
	TileCOffTile
	TileRows
	TileScale
	TileShift
	TileRowAdd
	TileReLU
	TileMaskBits
	TileMaskVec
	TileRowDone
	TileBlocks
	TileABlock
	TileBBlock
	TileBlocksLeft
	TileCols
	TileNext
	TileNextStep
)

// Byte offsets of the fields of simd.Depthwise; its test compares them with the
// compiler's.
const (
	DepthX = 8 * iota
	DepthW
	DepthY
	DepthN
	DepthC
	DepthTaps
	DepthTapsW
	DepthXStep
	DepthXRow
	DepthYStep
)

// Further fields of simd.Depthwise.
const (
	DepthScale = DepthYStep + 8
	DepthShift = DepthScale + 8
	DepthLo    = DepthShift + 8
	DepthHi    = DepthLo + 4
)

// DepthShapes are the widths of filters, and the steps between positions in
// pixels, that have kernels of their own. Those that are not odd are the phases of
// a stride on the way back.
var DepthShapes = [][2]int{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {7, 1}, {3, 2}, {5, 2}, {7, 2}}

// DepthGroup is how many positions share what they read.
const DepthGroup = 4
