// Package nearest finds the rows nearest to queries, exactly, in rows that were
// coded beforehand: it is what package eval/rank does for a gallery that stays while
// queries come and go, and that lies in several parts, in mapped files maybe.
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
// Codes are u as package coded has it in Stored kinds; how far a product of codes can be
// from v.u is bounded by Reach times Slack of that package. Every row whose bound lets it
// be among the nearest is scored in float64, which tells what the next ones have to reach.
// Each row has a unit and a bound of its own, and the space is that of the middle of
// the rows, so that some far from all others widen the bounds of none but themselves.
// Machines without fast products of small integers compute the same in float32 from
// the rows themselves.
package nearest
