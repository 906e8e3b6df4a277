// Package eval measures embeddings: how well they retrieve, how well they
// cluster, and how well a threshold tells same from different.
//
//	metrics, err := eval.ParseMetrics("recall@1,map@r,nmi")
//	rep, err := eval.Evaluate(ctx, eval.Set{X: x, Labels: [][]int64{labels}}, nil, eval.Config{Metrics: metrics})
//	recall := rep.Columns[0].Values[0].Value
//
// The input is a matrix of embeddings with one or more columns of labels, a list of metrics, and optionally a
// separate gallery. The output is a Report with a value for each metric and column of labels, the numbers of queries
// used and left out, and a statement of how every clustering was made. On request it has confidence intervals and
// values for each class and query. RecallAt is the short form for the measure that all papers report.
//
// Retrieval measures are computed from exact ranks. Clusterings and their scores are in
// internal/compute/cluster. Decisions by a threshold (are two items the same? which class is an item?) are
// in this package too. docs/evaluation.md
// defines every measure and convention.
//
// # Decisions
//
// ComparePairs counts all pairs of two items by distance. CompareList counts the pairs of a list, and
// Identify searches probes whose class the gallery may lack. The terms are those of ISO/IEC 19795-1 and
// of NIST's FRTE. A pair is genuine (mated) if both items have the same label, else it is an impostor
// pair. It is accepted as the same class if its distance is at most the threshold.
//
//	FMR(t)  = accepted impostor pairs / impostor pairs    false match rate, also FAR
//	FNMR(t) = genuine pairs not accepted / genuine pairs  false non-match rate
//	TAR(t)  = 1 - FNMR(t)                                 true accept rate
//
// A probe is mated if the gallery has its class. Otherwise it should be reported as unknown.
//
//	FPIR(t) = probes without a mate with any item within t / probes without a mate
//	FNIR(t) = mated probes with no item of their class within t / mated probes
//	DIR(t)  = mated probes whose nearest item is of their class and within t / mated probes
//
// All pairs are counted, without sampling. Distances are those of DistanceFunc, in float64, rounded up
// to 20 significant bits, which changes them by less than a part in 500,000. A threshold is always a
// number of 20 bits. A distance is within the threshold exactly if the rounded distance is, so FMR and
// FNMR at a threshold are exact. Distances that round to the same number count as ties, except in AUC of up to 4
// million pairs, which sorts the distances themselves.
//
// # Ranks
//
// A gallery is ordered by its distance to queries, exactly.
//
//	nb, err := eval.Nearest(ctx, queries, gallery, 10, eval.RankOptions{Distance: eval.Cosine})
//	first := nb.Row[0] // the row of the gallery nearest to query 0
//
// Nearest returns the k nearest items of every query. Positives returns the ranks of every query's
// positives, from which each retrieval measure is computed. NearestPhotos recognises a query
// among the items by its file. Distances are computed in float64 from the float32 coordinates. Of items
// at equal distances the lowest index comes first. If the queries are the gallery, a query's own row is
// left out of its ranking by its index. A duplicate of the query counts.
//
// The gallery is ordered by distance for each query. An item is a row of the gallery. A positive is an
// item with the query's label, and R is the number of positives. The rank of an item is its place in the
// query's ranking, 1 for the nearest.
//
// Package internal/compute/exact scores all pairs fast and approximately. It scores exactly only those pairs that
// could change a result. It finds the nearest items, or it counts the items that are nearer than each mark, which is
// a positive whose rank still matters. If queries have many positives, it finds the head of each query instead: the
// items that may be among the first Depth of the ranking.
//
// # Diagnosis
//
// Diagnose shows whether an embedding has collapsed its classes to points, and how well it
// orders the samples within a class.
//
//	r, err := eval.Diagnose(ctx, eval.DiagnosisInput{X: x, Labels: classes, Fine: kinds}, eval.DiagnosisOptions{})
//	fmt.Println(r.Verdict.Text)
//
// The input is embeddings, the labels they were trained with and, if known, finer labels. The output is
// a Diagnosis with numbers for each class and overall, and a verdict in words. The verdict follows from a
// few figures. Recall@1 against chance shows whether the classes are separated. Three figures show
// whether classes have an inner structure: compactness (the distance within a class over the distance to
// the nearest other class), the share of classes with several sub-classes, and the order by fine labels.
//
// Distances are Euclidean, between the given rows or, for the cosine distance, between rows scaled to
// length 1. If a measure needs a common scale, distances are relative to the spread, the root mean
// square distance of the rows from their mean. Then embeddings of different scale can be compared.
package eval
