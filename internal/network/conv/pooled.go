package conv

import (
	"github.com/kindred-ml/kindred/internal/kernel/bf16"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// In evaluation the first convolution of a residual network and the maximum pool after it are
// one pass: a band of rows is pooled while it is in cache, and only maxima are written.

// poolBand is about how many values of the convolution a band has.
const poolBand = 96 << 10

// CanPool reports whether Forward can pool: see Epilogue.Pool.
func (s *Shape) CanPool() bool {
	return s.Groups == 1 && s.OutH()%2 == 0 && s.OutW()%2 == 0 && !(s.R == 3 && s.S == 3 && s.StrideH*s.StrideW == 1)
}

// pooledLen is how many values Forward writes.
func (s *Shape) pooledLen() int { return s.N * (s.OutH() / 2) * (s.OutW() / 2) * s.K }

// poolLayout cuts a geometry into parts of images, each of which is computed in bands of
// rows.
func (l *layout) poolLayout() {
	l.images, l.bands, l.split = 1, max(1, min(wantStreams/max(l.n, 1), l.outH/8)), 1
	l.rows = min(max(2, poolBand/(l.outW*l.cols)/2*2), l.outH)
	l.chunks = l.n * l.bands
}

// pooledChunk computes a part of an image.
func (s *product) pooledChunk(chunk int) {
	image, part := chunk/s.bands, chunk%s.bands
	height := s.outH / 2
	q, end := part*height/s.bands, (part+1)*height/s.bands
	t := simd.MaxPool3{Line: s.outW * s.cols, C: s.cols}
	out := t.Line / 2
	room := s.scratch.Get((s.rows+2)*t.Line + t.ScratchLen() + out)
	defer s.scratch.Put(room)
	lines, room := room[:(s.rows+2)*t.Line], room[(s.rows+2)*t.Line:]
	maxima, room := room[:out], room[out:]
	band := *s
	band.dstHalf = false
	first := max(0, 2*q-1) // the row that lines begins with
	for row := first; row < 2*end; {
		rows := min(s.rows, 2*end-row)
		band.dst = lines[(row-first)*t.Line:]
		band.compute(chunk, 0, image, 1, row, rows, 0)
		row += rows
		for ; q < end && 2*q+1 < row; q++ {
			t.X, t.Top = lines[(max(0, 2*q-1)-first)*t.Line:], q == 0
			at := (image*height + q) * out
			if s.dstHalf {
				t.Max(maxima, room)
				bf16.Round(bf16.View(s.dst)[at:at+out], maxima)
				continue
			}
			t.Max(s.dst[at:at+out], room)
		}
		// What the next maxima need as well goes first.
		keep := max(0, 2*q-1)
		copy(lines, lines[(keep-first)*t.Line:(row-first)*t.Line])
		first = keep
	}
}
