// Package discover finds sub-classes of the classes of an embedding: groups of rows that share a label but are
// apart, such as the letters of an alphabet in a network that was trained only on alphabets. Identifiers call a
// sub-class a kind.
//
//	res, err := discover.Find(ctx, x, labels, discover.Options{})
//	for _, c := range res.Classes {
//		fmt.Println(c.Label, len(c.Kinds), c.P)
//	}
//	finer := res.Kind // a label for each row, by which classes are split
//
// The input is embeddings, with a row and a label for each item. The output is the sub-classes of each class.
// Each sub-class has its members, the member in the middle, the members that differ most, and a measure of how
// well it is found again when rows are left out. A class also has the probability that a class without
// sub-classes, of any shape and size, would have such gaps. Judge returns only that probability.
//
// It finds only differences that the embedding has kept. A network that pulls all samples of a class together
// leaves nothing to find. Easy positive sampling (objective.EasyPositive) keeps unlabelled sub-classes apart.
// docs/discover.md has the measurements.
package discover
