// Package mine chooses which pairs and triplets of a batch count. A miner
// combines a positive policy with a negative policy; any two can be combined.
// In: one anchor of a pair.Table at a time. Out: its positives and negatives,
// and what could not be had (no positive, no negative, no candidate, a
// fallback).
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
