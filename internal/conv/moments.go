package conv

// chunkMoments holds, per channel, the mean of a chunk of positions and the sum
// of squared differences from it: two passes while the chunk is in cache, so
// that nothing cancels.
type chunkMoments struct {
	count    int
	mean, m2 []float32
}

func (m *chunkMoments) measure(y []float32, stride, positions, from, to int) {
	m.count = positions
	mean, m2 := m.mean[from:to], m.m2[from:to]
	clear(mean)
	clear(m2)
	for i := range positions {
		for c, v := range y[i*stride+from : i*stride+to] {
			mean[c] += v
		}
	}
	for c := range mean {
		mean[c] /= float32(positions)
	}
	for i := range positions {
		for c, v := range y[i*stride+from : i*stride+to] {
			d := v - mean[c]
			m2[c] += d * d
		}
	}
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
