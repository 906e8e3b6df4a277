// Package train is the loop that turns batches into a trained network.
//
// The input is a Network, Data that reads samples by position, their labels, a Sampler that
// draws the positions of batches, an Objective and an optimizer. The output is the trained
// network and a row of numbers for every epoch.
//
//	sampler -> data -> network -> objective -> gradient -> step -> evaluation
//
// Network, Data, Sampler and Objective are small interfaces, so you can use your own network,
// data set, sampler or loss. This module implements them by *nn.Net, *data.Loader (through
// Images), sample.Balanced and *objective.Objective. docs/extending.md shows how.
//
//	net, err := nn.New(spec, nn.Options{Seed: 1})
//	obj, err := objective.New(objective.Options{Loss: loss.Triplet{}})
//	draw, err := sample.NewBalanced(labels, sample.BalancedConfig{Seed: 1})
//	opt, err := train.NewOptimizer(train.OptimizerConfig{}, train.Params(net, obj))
//	res, err := train.Loop(ctx, train.Config{
//		Network: net, Data: train.Rows{X: x}, Labels: labels,
//		Sampler: draw, Objective: obj, Optimizer: opt, Epochs: 10,
//	})
//	e, _, err := train.Embed(ctx, net, train.Rows{X: test}, test.Rows, 0)
//
// A run depends only on its inputs. The same seeds give the same bits on any number of cores. A
// run that was stopped and resumes from its last Checkpoint gives the same bits as one that never
// stopped. Package run does all this from a configuration, and writes a folder.
//
// Optimizers are Adam, AdamW and SGD, with weight decay, rates by parameter group, gradient clipping
// and schedules. Formulas and defaults are PyTorch's.
package train
