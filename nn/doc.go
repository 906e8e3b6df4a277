// Package nn describes convolutional networks and trains them on the CPU.
//
// A [Spec] is the description: an input shape and a tree of [Layer] values,
// serialisable as JSON, whose parameters are named as torchvision names them.
// [Network] builds the specs of the networks that kindred knows by name.
//
// A [Net] runs one: images go in, channels last; embeddings come out; their
// gradient goes back in; every [Param] then holds its own gradient.
//
//	spec, err := nn.Network("conv4", nn.NetworkOptions{Input: nn.Shape{H: 40, W: 40, C: 1}, Dim: 128})
//	net, err := nn.New(spec, nn.Options{Seed: 1})
//	e := net.Forward(images, n) // n x Dim
//	net.Backward(dE)            // fills Param.Grad
//
// Optimizers are in nn/optim, the file formats in format/safetensors and
// format/torchfile. docs/design/engine.md describes how the engine works and how
// fast it is.
package nn
