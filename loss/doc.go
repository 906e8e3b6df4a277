// Package loss holds the losses of metric learning as functions of pairs.
//
// A loss sees, for one anchor at a time, a number for each pair that mining
// chose: the similarity S, the distance D or the squared distance D². It returns
// its value and its derivative with respect to each of these numbers. Package
// objective does the rest: it chooses the pairs, computes the numbers, and turns
// the derivatives into the gradient of the embeddings.
//
// The struct of a loss is its configuration, and its zero value means the stated
// defaults. Optional numbers are pointers, since 0 is a value too. Most users only
// name a loss:
//
//	objective.New(objective.Options{Loss: loss.Contrastive{Margin: new(0.3)}})
//
// # A loss of your own
//
// A loss has a method Traits, which says what it reads, and one of three others:
//
//   - Tuples, if it is a sum over triplets (anchor, positive, negative);
//   - Pairs, if it is a sum over pairs;
//   - Set, if it takes all positives and negatives of an anchor together.
//
// Traits may ask for more: passes over the batch before the terms (MultiPass), or
// parameters (Learner, PerLabel) such as proxies of the classes. What has
// behaviour is an interface; a yes or no is a field of Traits. The example has all
// that a new loss needs.
package loss
