// Package discover finds sub-classes inside the classes of an embedding, called kinds here:
// groups of rows that share a label but lie apart, such as the letters of an alphabet in a
// network that was trained on alphabets only.
//
//	res, err := discover.Find(ctx, x, labels, discover.Options{})
//	for _, c := range res.Classes {
//		fmt.Println(c.Label, len(c.Kinds), c.P)
//	}
//	finer := res.Kind // a label for each row, by which classes are split
//
// In: embeddings, a row for each item, and a label for each row. Out: the kinds of each
// class, with the members of each kind, the member in the middle, the members that differ
// most, and how well the kind is found again when rows are left out. Also the probability
// that a class of one kind, whatever its shape and size, would have gaps as this class has.
// Judge returns only that probability.
//
// It finds only differences that the embedding has kept. A network that pulls all samples
// of a class together leaves nothing to find; easy positive sampling (mine.EasyPositive)
// keeps unlabelled kinds apart. docs/discover.md has the measurements.
package discover
