package conv

import "github.com/kindred-ml/kindred/internal/kernel/simd"

// chunkMoments holds, per channel, the mean of a chunk of count positions and the
// sum of squared differences from it: two passes while the chunk is in cache, so
// that nothing cancels.
type chunkMoments struct {
	count    int
	mean, m2 []float32
}

// measure takes columns from..to-1 of rows of y that are stride apart; other
// goroutines may measure other columns meanwhile. scratch has room for one value
// a column.
func (m *chunkMoments) measure(y, scratch []float32, stride, from, to int) {
	mean, m2 := m.mean[from:to], m.m2[from:to]
	simd.ColumnSums(mean, y[from:], m.count, stride)
	for c := range mean {
		mean[c] /= float32(m.count)
	}
	simd.ColumnMoments(scratch[:to-from], m2, y[from:], mean, m.count, stride)
}

// merge combines chunks in order (Chan, Golub and LeVeque 1983).
func merge(chunks []chunkMoments, out *Moments, from int) {
	for c := range chunks[0].mean {
		var n, mean, m2 float64
		for i := range chunks {
			k := float64(chunks[i].count)
			d := float64(chunks[i].mean[c]) - mean
			m2 += float64(chunks[i].m2[c]) + d*d*n*k/(n+k)
			mean += d * k / (n + k)
			n += k
		}
		out.Mean[from+c], out.Var[from+c] = float32(mean), float32(m2/n)
	}
}
