// Package exact finds which rows are nearest to others: the k best of a gallery, the best one, or how
// many are nearer than given scores. Its results are those of float64 scores; ties go to the lowest
// row. All pairs are scored fast and approximately; only those that could change a result are then
// scored exactly.
//
//	Best       the k nearest rows of a gallery     package eval: neighbours
//	Runner     the pairs that a Sink asks for      package eval: counts against the scores of positives
//	Heads      the first rows of each ranking      package eval: queries with many positives
//	Assigner   the nearest of some centroids       package cluster
//	nearest    the k nearest of rows in files      package index
//
// A score is the nearness of a pair, larger for nearer pairs: exact in float64 (scorer), or
// approximate, with bounds on the exact score. Approximate scores are computed in the Space: rows
// shifted and scaled so that neither integers nor float32 lose much precision. A side is a range of
// rows prepared for that, as integers of 8 or 16 bits if the machine multiplies those fast (package
// coded). A tile is the Block x Block scores of two sides' blocks. The Runner goes over the tiles and
// shows a Sink the pairs that it asks for. Shortlists keep the candidates for the k nearest, above a
// floor that k items are sure to reach, and score them exactly at the end. Heads read the gallery in
// a random order, guess early how near the last item that counts will be, and check the guess at the
// end.
package exact
