package dot16

// SquaredDistance returns the sum of (x[i] - y[i])^2 in float64. y must be at
// least as long as x. Equal arguments give equal bits on every machine: the terms
// are added in 16 fixed lanes, without fused operations.
func SquaredDistance(x, y []float32) float64 {
	var sum [16]float64
	n := len(x) &^ 15
	y = y[:len(x)]
	if n > 0 {
		squaredDistance(x[:n], y[:n], &sum)
	}
	for i, v := range x[n:] {
		d := float64(v) - float64(y[n+i])
		sum[i] += float64(d * d)
	}
	return sumLanes(&sum)
}

// Dot returns the sum of x[i] y[i] in float64, under the same conditions.
func Dot(x, y []float32) float64 {
	var sum [16]float64
	n := len(x) &^ 15
	y = y[:len(x)]
	if n > 0 {
		dot(x[:n], y[:n], &sum)
	}
	for i, v := range x[n:] {
		sum[i] += float64(float64(v) * float64(y[n+i]))
	}
	return sumLanes(&sum)
}

// Accumulate adds x[i] to sum[i], with the same bits on every machine. sum must be at
// least as long as x.
func Accumulate(sum []float64, x []float32) {
	n := len(x) &^ 15
	sum = sum[:len(x)]
	if n > 0 {
		accumulate(sum[:n], x[:n])
	}
	accumulateGeneric(sum[n:], x[n:])
}

func accumulateGeneric(sum []float64, x []float32) {
	for i, v := range x {
		sum[i] += float64(v)
	}
}

// sumLanes adds the lanes in halves: 8 and 8, then 4 and 4, 2 and 2, 1 and 1. It is written
// out because a loop goes through memory, which took as long as the rest of a distance.
func sumLanes(sum *[16]float64) float64 {
	a := (sum[0] + sum[8]) + (sum[4] + sum[12])
	b := (sum[1] + sum[9]) + (sum[5] + sum[13])
	c := (sum[2] + sum[10]) + (sum[6] + sum[14])
	d := (sum[3] + sum[11]) + (sum[7] + sum[15])
	return (a + c) + (b + d)
}

// The explicit conversions below keep compilers from fusing.

func squaredDistanceGeneric(x, y []float32, sum *[16]float64) {
	for ; len(x) >= 16; x, y = x[16:], y[16:] {
		for i, v := range x[:16] {
			d := float64(v) - float64(y[i])
			sum[i] += float64(d * d)
		}
	}
}

func dotGeneric(x, y []float32, sum *[16]float64) {
	for ; len(x) >= 16; x, y = x[16:], y[16:] {
		for i, v := range x[:16] {
			sum[i] += float64(float64(v) * float64(y[i]))
		}
	}
}
