// Package noise computes the expected values of metric-learning losses when
// labels are noisy, and the arrangements of points that minimise them.
//
// In: a Model (how many classes, which point belongs to which, how often a
// label is right), a Loss, and the distances of a finite embedding. Out: the
// exact expectation over all labellings as a closed sum, with its derivatives;
// the same by drawing labellings; the arrangement of free points that minimises
// it; and the quantities that the paper's theorems and claims speak of.
//
// Levi et al. 2021, "Rethinking preventing class-collapsing in metric learning
// with margin-based losses", section 4 and appendices A and B.
package noise
