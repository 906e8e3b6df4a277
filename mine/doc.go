// Package mine chooses which pairs and triplets of a batch count.
//
// A Config has a policy for positives (easy: the nearest of the same label, hard:
// the farthest, semihard: the farthest that is nearer than the negative, random, all,
// ms, histogram) and one for negatives (easy, hard, semihard, facenet, distance,
// random, all, ms, angular, histogram). Any two go together but semi-hard positives with
// negatives that are chosen by the positive, which Config.Check refuses. docs/policies
// has a page on each, with what it does to the inside of a class. PositiveRange and
// NegativeRange leave out what is too near or too far. Package objective mines by
// itself, as its options say. Select mines alone:
//
//	chosen, err := mine.Select(embeddings, labels, mine.Config{
//		Positives: mine.EasyPositive,
//		Negatives: mine.SemiHardNegative,
//	})
//	for anchor, s := range chosen {
//		for positive, negative := range s.Tuples() {
//			...
//		}
//	}
//
// Policies compare Euclidean distances between the embeddings as the loss sees
// them, except multi-similarity, which compares similarities. Ties go to the
// lowest index. An anchor is never its own positive; it is excluded by its
// index.
//
// Random policies draw from a separate stream for each anchor of each step,
// seeded by (seed, step, anchor), so the draws do not depend on how anchors are
// distributed over cores.
package mine
