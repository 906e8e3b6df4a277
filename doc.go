// Package kindred is metric learning in Go: it trains embeddings in which
// similar things are close together, keeps look-alikes within a class together
// instead of collapsing the class to a point, and measures the result.
//
// The module root contains no code. Start with:
//
//   - objective: a loss with its mining policies, from a batch of embeddings to
//     a value and a gradient;
//   - eval: retrieval and clustering metrics and the diagnosis of collapse;
//   - train: the loop from pictures to a trained embedding;
//   - cmd/kindred: all of it as one command.
//
// docs/design explains the structure and the reasons for it.
package kindred
