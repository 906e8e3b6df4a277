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
// All pairs are scored fast and approximately; only those that could change a result are then
// scored exactly. A score is the nearness of a pair, larger for nearer pairs: exact in float64
// (scorer), or approximate, with bounds on the exact score. Approximate scores are computed in the
// space: rows shifted and scaled so that neither integers nor float32 lose much precision. A side
// is a range of rows prepared for that, as integers of 8 or 16 bits if the machine multiplies those
// fast. A tile is the block x block scores of two sides' blocks. The runner goes over the tiles and
// shows a sink the pairs that it asks for. There are two sinks. Shortlists keep the candidates for
// the k nearest, above a floor that k items are sure to reach, and score them exactly at the end.
// The tally counts how many items are nearer than each mark, a positive whose rank still matters.
// Where queries have many positives, the head runner keeps a head of each query instead: the items
// that may be among the first Depth of its ranking. It reads the gallery in a random order, guesses
// early how near the last of these will be, and checks the guess at the end.
package rank
