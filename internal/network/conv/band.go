package conv

import (
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

const (
	// bandLines is about how many lines of the first cache a band reads and writes for each
	// register of channels.
	bandLines = 512
	// maxBand is the most rows of positions in a band.
	maxBand = 32
)

// isBanded reports whether simd.DepthwiseBand computes a depthwise product: it reads the
// image where it lies, and needs no slab with padding.
func (s *product) isBanded() bool {
	return s.geometry.depthwise && s.taps == 3 && s.tapsW == 3 && s.strideW < 3 && s.strideH == s.strideW &&
		-1 <= s.offW && s.offW <= 0 && s.overhang() < 2 && s.scale != nil && s.add == nil && !s.backAdd &&
		simd.HasDepthwiseBand()
}

// overhang is how many columns beyond the image the last position reads.
func (w *window) overhang() int { return w.offW + (w.outW-1)*w.strideW + w.tapsW - w.srcW }

// bandRows computes rows p0.. of image n, a band at a time. Rows outside the image are
// zeros.
func (s *product) bandRows(dst []float32, n, p0, rows int) {
	d := simd.DepthwiseBand{W: unsafe.Pointer(&s.panels[0]), N: s.outW, C: 4 * s.chans, YStep: 4 * s.dstCol,
		YRow: 4 * s.dstRow, Scale: &s.scale[0], Shift: &s.shift[0], Act: s.bounds(), Left: simd.Inside,
		Right: simd.Inside, Stride: s.strideW}
	if s.offW < 0 {
		d.Left = simd.Outside
	}
	if s.overhang() > 0 {
		d.Right = simd.Outside
	}
	step := min(max(bandLines/((1+s.strideH)*s.strideW*s.outW)/2*2, 2), maxBand)
	var table [(maxBand-1)*2 + 3]unsafe.Pointer
	for p := 0; p < rows; p += step {
		d.Rows = min(step, rows-p)
		for i := range (d.Rows-1)*s.strideH + s.taps {
			from := s.zeros
			if h := (p0+p)*s.strideH + s.offH + i; h >= 0 && h < s.srcH {
				from = s.src[(n*s.srcH+h)*s.srcW*s.srcC:]
			}
			table[i] = unsafe.Pointer(&from[0])
		}
		d.X, d.Y = &table[0], unsafe.Pointer(&dst[p*s.dstRow])
		d.Forward()
	}
}

// zeroRow returns a row of the layout's image without values.
func (ws *Workspace) zeroRow(l *layout) []float32 {
	ws.zeros = par.Grow(ws.zeros, l.srcW*l.srcC)
	clear(ws.zeros)
	return ws.zeros
}
