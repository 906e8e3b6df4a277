package isometry

import "math"

// Simplices returns the set on which the upper inequality of theorem 3 breaks
// down: two classes of s points (s >= 2), each a regular simplex of edge 1, in
// perpendicular subspaces of R^(2s-2) with their centres in one place. Each
// distance within a class is 1, each between classes c = sqrt(1 - 1/s), so
//
//	L_HN = 1 - c, about 1/(2s).
//
// For s = 2 it is the square with its diagonals as classes.
func Simplices(s int) Set {
	if s < 2 {
		panic("isometry: a simplex needs 2 points")
	}
	dim := 2 * (s - 1)
	f := Set{Dim: dim, X: make([]float64, 2*s*dim), Class: make([]int, 2*s)}
	for i := range 2 * s {
		f.Class[i] = i / s
		v := simplexVertex(s, i%s)
		copy(f.Row(i)[(i/s)*(s-1):], v)
	}
	return f
}

// simplexVertex returns vertex k of the regular simplex of s points and edge 1
// around the origin of R^(s-1), in Helmert's coordinates.
func simplexVertex(s, k int) []float64 {
	v := make([]float64, s-1)
	for j := 1; j < s; j++ { // axis j-1: (1, ..., 1, -j, 0, ...) / sqrt(2 j (j+1))
		h := 1 / math.Sqrt(2*float64(j)*float64(j+1))
		switch {
		case k < j:
			v[j-1] = h
		case k == j:
			v[j-1] = -float64(j) * h
		}
	}
	return v
}

// SimplicesFactor returns a lower bound of d_iso(f, TS) / L_HN, with g in the
// same R^(2s-2), for Simplices(s) together with far points: one class each, on a
// sphere around it whose radius goes to infinity, so dense that every direction
// has one within an angle of cosine cover.
//
// Proof. Far points add no triplet to L_HN. If g is TS with error e, averaging
// D_ap <= D_an over all triplets of the simplices gives, with m the mean squared
// distance between the classes of g and w the vector between their centroids,
// |w|² >= m/s: the mean squared distance within a class is 2s/(s-1) times its
// variance and at most m, and m is |w|² plus both variances. As m >= (c-e)²,
// |w| >= (c-e)/sqrt(s), while w = 0 in f. Seen from a far point in direction u,
// each distance moved by at most e, so the two centroids moved along u by at
// most 2e relative to each other, and some u has |w.u| >= cover |w|. Hence
// 2e >= cover (c-e)/sqrt(s), that is e >= k c / (sqrt(s) + k) with k = cover/2.
//
// With L_HN about 1/(2s) the factor grows like sqrt(s): no constant serves
// for all dimensions, and 2 fails from s = 8 on, in 14 dimensions.
func SimplicesFactor(s int, cover float64) float64 {
	c := math.Sqrt(1 - 1/float64(s))
	k := cover / 2
	return k * c / (math.Sqrt(float64(s)) + k) / (1 - c)
}

// TwoFar returns the set of the line with the largest factor known there: two
// copies of a class of two points with a stranger in their middle,
// (0, 2 | 1) and (0, 2 | 1) + gap, four classes in all. L_HN is 1, and for gaps
// of at least 8 d_iso(f, TS) is 3/2: within a copy some point must move by 3/2
// relative to another, and seen from the other copy that is an error.
func TwoFar(gap float64) Set {
	return Set{Dim: 1, X: []float64{0, 2, 1, gap, gap + 2, gap + 1}, Class: []int{0, 0, 1, 2, 2, 3}}
}
