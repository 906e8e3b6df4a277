// Package theory groups the computations that check and illustrate theorems about metric
// learning. It holds no code itself:
//
//   - internal/app/experiments/theory/noise: expected losses under label noise, and their minimisers;
//   - internal/app/experiments/theory/isometry: how far an arrangement of points is from separating its
//     classes, and the nearest arrangement that does;
//   - internal/app/experiments/theory/field: how gradient steps move triplets on the scatter diagram;
//   - internal/app/experiments/theory/lp: the linear programs that internal/app/experiments/theory/isometry solves.
//
// All computations are in double precision and, given a seed, the same to the
// last bit whatever the number of cores.
package theory
