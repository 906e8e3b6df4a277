// Package nearest finds the rows nearest to queries, exactly, in rows that were
// coded beforehand: it is what package eval/rank does for a gallery that stays while
// queries come and go, and that lies in several parts, in mapped files maybe.
//
// In: parts, each its rows as float32 and their Codes, which Encode makes; queries,
// each with the rows that count. Out: for each query its nearest rows with float64
// scores. One pass over the parts serves all queries.
//
// A part's codes live in a Space of its own, where a row x is
//
//	Euclidean: u = (x - mean of the part) / 2^e, half = ||u||^2 / 2
//	Cosine:    u = x / ||x||,                    half = 0
//	Dot:       u = x / 2^e,                      half = 0
//
// and the score of a pair is u.v - half_u - half_v. Codes are u rounded to 16-bit
// integers; how far a score made of them can be from the exact one is a band that
// Cauchy and Schwarz give. Every row whose band reaches the floor, a score that K
// rows are sure to have, is a candidate, and is settled in float64. Machines
// without fast products of 16-bit integers compute the same in float32 from the
// rows themselves.
package nearest
