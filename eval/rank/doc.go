// Package rank orders a gallery by its distance to queries, exactly.
//
//	nb, err := rank.Nearest(ctx, queries, gallery, 10, rank.RankOptions{Distance: rank.Cosine})
//	first := nb.Row[0] // the row of the gallery nearest to query 0
//
// Nearest returns the k nearest items of every query. Positives returns the ranks of every query's
// positives, from which package eval computes each retrieval measure. NearestPhotos recognises a query
// among the items by its file. Distances are computed in float64 from the float32 coordinates. Of items
// at equal distances the lowest index comes first. If the queries are the gallery, a query's own row is
// left out of its ranking by its index. A duplicate of the query counts.
//
// # Words
//
// The gallery is ordered by distance for each query. An item is a row of the gallery. A positive is an
// item with the query's label, and R is the number of positives. The rank of an item is its place in the
// query's ranking, 1 for the nearest.
//
// Package internal/compute/exact scores all pairs fast and approximately. It scores exactly only those pairs that
// could change a result. It finds the nearest items, or it counts the items that are nearer than each mark, which is
// a positive whose rank still matters. If queries have many positives, it finds the head of each query instead: the
// items that may be among the first Depth of the ranking.
package rank
