// Package nn describes neural networks for images and trains them on the CPU.
//
// A [Spec] describes a network: the shape of the input and a tree of [Layer] values, stored as JSON.
// Its parameters have the names of torchvision or timm. Package zoo writes the descriptions of
// well-known networks, from Conv4 to residual networks, MobileNets, ConvNeXt and transformers, and
// loads weights that were trained elsewhere.
//
// A [Net] runs a Spec: images go in, channels last, and embeddings come out; their gradient goes back
// in, every [Param] then holds its own gradient, and an optimizer of package train takes a step.
//
//	spec, err := zoo.Network("vit_s16", zoo.Options{Input: nn.Shape{H: 224, W: 224, C: 3}, Dim: 128})
//	net, err := nn.New(spec, nn.Options{Seed: 1, Freeze: []string{"patch_embed"}})
//	e := net.Forward(images, n) // n x Dim
//	net.Backward(dE)            // fills Param.Grad
//
// docs/design/nn.md lists the layers with their parameters; docs/design/engine.md says how they run.
package nn
