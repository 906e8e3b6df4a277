// Package rank orders a gallery by its distance to queries, exactly.
//
//	nb, err := rank.Nearest(ctx, queries, gallery, 10, rank.Options{Distance: rank.Cosine})
//	first := nb.Row[0] // the row of the gallery nearest to query 0
//
// Nearest gives the k nearest items of every query; Positives the ranks of every
// query's positives, of which each retrieval measure is a function (package eval
// has them); NearestPhotos knows a query among the items by its file. Distances are
// compared as float64 functions of the float32 coordinates, ties by the lowest index.
// Where the queries are the gallery, a query's own row is left out of its ranking by
// its index: a duplicate of the query counts, the query itself never does.
//
// # Words
//
// A query is what the gallery is ordered for; an item is a row of the gallery. A
// positive is an item with the query's label; R is their number. The rank of an
// item is its place in the query's ranking, 1 for the nearest.
//
// All pairs are scored approximately and fast, and only those that could change a
// result exactly. A score is the nearness of a pair, the larger the nearer: exact
// in float64 (scorer), or approximate, with a band within which the exact one must
// lie. The space is where approximate scores live: rows shifted and scaled so that
// neither integers nor float32 lose much of them. A side is a range of rows
// made ready for it, as integers of 8 or 16 bits where the machine multiplies those fast. A tile is
// the block x block scores of two sides' blocks; the runner goes over the tiles and
// shows a sink the pairs it asks for. There are two: shortlists, which keep the
// candidates for the k nearest above a floor that k items are sure to reach, and
// settle them at the end; and the tally, which counts how many items stand ahead of
// each mark, a positive whose rank still matters. Where queries have many positives, the
// head runner keeps a head of each instead: what may be among the first Depth items. It
// reads the gallery in a random order, guesses early how near the last of these will be,
// and checks the guess at the end.
package rank
