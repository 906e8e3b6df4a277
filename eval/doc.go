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
// Retrieval measures are computed from the exact ranks of package eval/rank. Clusterings and their scores are in
// internal/compute/cluster. Decisions by a threshold (are two items the same? which class is an item?) are
// in this package too. Package eval/diagnose shows whether an embedding has collapsed. docs/evaluation.md
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
// All pairs are counted, without sampling. Distances are those of rank.DistanceFunc, in float64, rounded up
// to 20 significant bits, which changes them by less than a part in 500,000. A threshold is always a
// number of 20 bits. A distance is within the threshold exactly if the rounded distance is, so FMR and
// FNMR at a threshold are exact. Distances that round to the same number count as ties, except in AUC of up to 4
// million pairs, which sorts the distances themselves.
package eval
