// Package loss holds the losses of metric learning as functions of pair values.
// In: the similarities or distances of the pairs that mining chose, one anchor
// at a time. Out: the loss and its derivative with respect to each of them,
// which package pair turns into gradients of the embeddings.
//
// Losses come in three kinds. A Tuples loss is a sum over triplets (anchor,
// positive, negative); a Pairs loss is a sum over pairs; a Sets loss takes all
// chosen positives and negatives of an anchor together. The struct of a loss is
// its configuration, and its zero value means the stated defaults.
package loss
