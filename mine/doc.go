// Package mine chooses which pairs and triplets of a batch count. A miner is a
// positive policy with a negative policy; any two combine. In: one anchor of a
// pair.Table at a time. Out: its positives and negatives, and what stood in the
// way (no positive, no negative, no candidate, a fallback).
//
// Policies compare Euclidean distances of the embeddings as the loss sees them,
// except multi-similarity, which compares similarities. Ties go to the lowest
// index. An anchor is never its own positive, by index.
//
// Random policies draw from a stream of their own for each anchor of each step,
// seeded by (seed, step, anchor), so that what they draw does not depend on how
// anchors are spread over cores.
package mine
