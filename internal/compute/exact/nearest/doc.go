// Package nearest finds the rows nearest to queries, exactly, in rows that were coded beforehand. It is
// exact.TopK for a fixed gallery and changing queries; the gallery may be in several parts, also in mapped
// files.
//
// In: parts, each its rows as float32 and their Codes, which Encode makes; queries,
// each with the rows that count. Out: for each query its nearest rows with float64
// scores. One pass over the parts serves all queries.
//
// A part's codes live in a Space of its own, with a center c and a scale 2^e, where a
// row x is u and a query q is v:
//
//	Euclidean: u = (x - c) / 2^e,     v = (q - c) / 2^e,  v.u - ||u||^2/2 = (||v||^2 - ||q-x||^2/4^e) / 2
//	Cosine:    u = x / ||x|| - c,     v = q / ||q||,      v.u = cosine - v.c
//	Dot:       u = x / 2^e - c,       v = q / ||q||,      v.u = q.x / (||q|| 2^e) - v.c
//
// Codes are u as package quantized has it in Stored kinds; how far a product of codes can be from v.u is
// bounded by Reach times Slack of that package. Every row that, by its bound, may be among the nearest is
// scored in float64, which raises the threshold for the next rows. Each row has its own unit and bound,
// and the space is fitted to the median of the rows, so a row far from all others widens only its own
// bound. Machines without fast products of small integers compute the same in float32 from the rows
// themselves.
package nearest
