// Package diagnose shows whether an embedding has collapsed its classes to points, and how well it
// orders the samples within a class.
//
//	r, err := diagnose.Diagnose(ctx, diagnose.DiagnosisInput{X: x, Labels: classes, Fine: kinds}, diagnose.DiagnosisOptions{})
//	fmt.Println(r.Verdict.Text)
//
// The input is embeddings, the labels they were trained with and, if known, finer labels. The output is
// a Result with numbers for each class and overall, and a verdict in words. The verdict follows from a
// few figures. Recall@1 against chance shows whether the classes are separated. Three figures show
// whether classes have an inner structure: compactness (the distance within a class over the distance to
// the nearest other class), the share of classes with several sub-classes, and the order by fine labels.
//
// Distances are Euclidean, between the given rows or, for the cosine distance, between rows scaled to
// length 1. If a measure needs a common scale, distances are relative to the spread, the root mean
// square distance of the rows from their mean. Then embeddings of different scale can be compared.
package diagnose
