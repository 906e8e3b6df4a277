// Package eval measures embeddings: how well they retrieve, how well they
// cluster, and how well a threshold tells same from different.
//
//	metrics, err := eval.ParseMetrics("recall@1,map@r,nmi")
//	rep, err := eval.Evaluate(ctx, eval.Set{X: x, Labels: [][]int64{labels}}, nil, eval.Config{Metrics: metrics})
//	recall := rep.Columns[0].Values[0].Value
//
// In: a matrix of embeddings with one or more columns of labels, optionally a separate gallery, and a list of
// metrics. Out: a Report with a value for each metric and column of labels, the numbers of queries used and
// left out, confidence intervals and per-class and per-query values on request, and a statement of how every
// clustering was made. RecallAt is the short form for the one measure that all papers report.
//
// Retrieval measures are computed from the exact ranks that package eval/rank finds. Clusterings and their
// scores are in eval/cluster. Decisions by a threshold (are two items the same? which class is an item?) are in
// eval/verify. Package eval/diagnose says whether an embedding has collapsed. docs/evaluation.md defines every
// measure and convention.
package eval
