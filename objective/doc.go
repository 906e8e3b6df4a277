// Package objective joins a loss with its miner. In: a batch of embeddings and
// labels. Out: the loss, its gradient with respect to the embeddings as given,
// and counts of what mining found.
//
// The similarities of a batch of up to MatrixRows anchors are held all at once;
// those of a larger batch are computed one block of anchors at a time, so that
// memory grows with the batch and not with its square.
package objective
