// Package rerank reorders and groups the candidates of one search by comparing them with each other. In: the query, and
// the vectors of the items that a search found, nearest first. Out: a new distance for each candidate (AlphaQE,
// KReciprocal), or positions of candidates (Diverse, NearCopies).
//
//	c := &rerank.Candidates{Query: q, X: found, By: eval.Cosine}
//	distance, err := c.KReciprocal(ctx, rerank.K1, rerank.K2, rerank.Lambda)
//	order := rerank.Order(distance) // positions in found, the nearest first
//
// Distances are those of package eval, in float64. A result depends on its arguments only, not on the number of
// threads, and candidates at equal distances keep their order. Nothing is found that the search did not find: a
// re-ranking needs more candidates than results.
package rerank
