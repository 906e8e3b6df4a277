// Package theory groups the computations that check and illustrate theorems about metric
// learning. It holds no code itself:
//
//   - internal/repro/theory/noise: expected losses under label noise, and their minimisers;
//   - internal/repro/theory/isometry: how far an arrangement of points is from separating its
//     classes, and the nearest arrangement that does;
//   - internal/repro/theory/field: how gradient steps move triplets on the scatter diagram;
//   - internal/repro/theory/lp: the linear programs that internal/repro/theory/isometry solves.
//
// All computations are in double precision and, given a seed, the same to the
// last bit whatever the number of cores.
package theory
