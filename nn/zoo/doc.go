// Package zoo holds the networks that are known by name, and the weights that others
// have trained for them.
//
// [Network] writes the description of one, from Conv4 to residual networks, MobileNets,
// ConvNeXt and transformers, which package nn runs:
//
//	spec, err := zoo.Network("vit_s16", zoo.Options{Input: nn.Shape{H: 224, W: 224, C: 3}, Dim: 128})
//	net, err := nn.New(spec, nn.Options{Seed: 1})
//	file, err := zoo.ReadWeights("dino_deitsmall16_pretrain.pth")
//	report, err := zoo.Import(net, file, zoo.ImportOptions{})
//
// [Import] knows the names of torchvision, timm, DINO, CLIP and Hugging Face; [Guess]
// tells what network a file is for. docs/design/nn.md lists both.
package zoo
