package isometry

import "math"

// SimplicesFactor returns a lower bound of d_iso(f, TS) / L_HN, with g in the
// same R^(2s-2), for the set on which the upper inequality of theorem 3 breaks down: two
// classes of s points, each a regular simplex of edge 1, in perpendicular subspaces with
// their centres in one place, together with far points: one class each, on a
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
