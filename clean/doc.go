// Package clean finds errors in a labelled set by its embeddings and pictures: items whose labels
// contradict those of their neighbours, copies of pictures, items unlike all others, and classes that
// overlap so much that they look like one.
//
//	res, err := clean.FindLabelErrors(ctx, labels, clean.Options{}, clean.Fold{X: x})
//	for _, i := range res.Suspects(0.5) {
//		fmt.Println(i, labels[i], res.Suggested[i], res.Score[i])
//	}
//
// The input is labels, and embeddings that do not depend on an item's own label. With a single embedding,
// each item is left out of the classifiers that judge it. But a network that was trained on a wrong label
// has learned it, and the better the longer it trained. Folds are embeddings by networks that were each
// trained without some of the items. These items are judged only in that embedding.
//
// The output is scores, which are probabilities, and a rank. The rank shows how clearly a label is
// contradicted. The probability also takes into account how often right labels of the same set are
// contradicted as clearly, in the tails of their classes and in overlaps (see Labels).
//
// Duplicates compares pictures; Outliers and Overlaps compare distances.
package clean
