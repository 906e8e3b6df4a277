// Package quantized compares rows fast and yet exactly: rows are coded as integers of 8 or 16
// bits, or as float32, blocks of them are multiplied, and the coding error of each row bounds
// the error of every product. Package exact and its
// searches use it; each keeps its own list of undecided pairs and decides these in float64.
//
// In: rows that the caller has placed, that is, shifted and scaled to a length of about 1. A
// Coder codes one row after the other; Rows are the left factor of products, Columns the right
// one. Out: a Tile has the scores of a block of rows and a block of columns,
//
//	score = row . column - half of the column
//
// where the caller chooses half: half of the column's square for Euclidean distances. A Tile also
// finds which scores reach a threshold, or which two are the largest.
//
// # Kinds
//
// Products of integers are exact in 32 bits, and the same on every machine. Suited is
// the kind that a machine multiplies fastest for rows of d coordinates; Stored is the
// kind in which rows are written to files, which d alone decides. Float32 serves
// machines without fast products of integers.
//
// # The bound
//
// Let u and v be the placed rows, u' and v' their codes, and let a loss be
// at least the length of u - u' or of v - v'. By Cauchy and Schwarz
//
//	|u'.v' - u.v| <= loss_u ||v|| + (||u|| + loss_u) loss_v
//
// Kind.Band adds the roundings of scores to this. Kind.Slack and Kind.Reach split a bound
// that is somewhat wider into a factor of the column, which is stored with it, and one
// of the row.
package quantized
