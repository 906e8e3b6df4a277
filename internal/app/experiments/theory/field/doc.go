// Package field computes how gradient steps move triplets on the unit sphere,
// seen on the triplet scatter diagram: the square of the similarities S_ap
// (anchor and positive) and S_an (anchor and negative).
//
// In: a loss, as how strongly it pulls the positive and pushes the negative at
// a point of the square; the angle between the two (gamma); a step size; and
// how entangled the two changes are. Out: the change of S_ap and S_an there,
// maps of it over the square, the share of the square in which a step moves the
// wrong way, and, for the checkpoints of a training run, the triplets
// themselves with the field behind them.
//
// Changes are computed by moving three explicit vectors. The closed forms of
// the paper are kept too, and a test compares the two.
//
// Xuan et al. 2020, "Extreme triplet learning: effectively optimizing easy
// positives and hard negatives".
package field
