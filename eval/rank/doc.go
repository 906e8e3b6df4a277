// Package rank orders a gallery by its distance to queries, exactly.
//
//	nb, err := rank.Nearest(ctx, queries, gallery, 10, rank.Options{Distance: rank.Cosine})
//	first := nb.Row[0] // the row of the gallery nearest to query 0
//
// Nearest gives the k nearest items of every query. Positives gives the ranks of every query's
// positives, from which package eval computes each retrieval measure. NearestPhotos recognises a
// query among the items by its file. Distances are computed in float64 from the float32
// coordinates; ties go to the lowest index. Where the queries are the gallery, a query's own row is
// left out of its ranking by its index: a duplicate of the query counts, the query itself never
// does.
//
// # Words
//
// A query is what the gallery is ordered for; an item is a row of the gallery. A
// positive is an item with the query's label; R is their number. The rank of an
// item is its place in the query's ranking, 1 for the nearest.
//
// Package internal/compute/exact scores all pairs fast and approximately, and exactly only those that
// could change a result. It finds the nearest items, counts for the tally how many items are nearer than
// each mark, a positive whose rank still matters, or, where queries have many positives, finds the head
// of each query instead: the items that may be among the first Depth of its ranking.
package rank
