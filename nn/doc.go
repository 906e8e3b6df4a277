// Package nn describes neural networks for images and trains them on the CPU.
//
// A [Spec] is a description: the shape of the input and a tree of [Layer] values,
// kept as JSON, whose parameters are named as torchvision or timm names them.
// Package zoo writes the descriptions of networks that are known by name, from
// Conv4 to residual networks, MobileNets, ConvNeXt and transformers, and starts
// them from weights that were trained elsewhere.
//
// A [Net] runs one: images go in, channels last; embeddings come out; their
// gradient goes back in; every [Param] then holds its own gradient, and an
// optimizer of package optim takes a step.
//
//	spec, err := zoo.Network("vit_s16", zoo.Options{Input: nn.Shape{H: 224, W: 224, C: 3}, Dim: 128})
//	net, err := nn.New(spec, nn.Options{Seed: 1, Freeze: []string{"patch_embed"}})
//	e := net.Forward(images, n) // n x Dim
//	net.Backward(dE)            // fills Param.Grad
//
// docs/design/nn.md lists the layers with their parameters, docs/design/engine.md
// says how they are run.
package nn
