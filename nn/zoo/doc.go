// Package zoo has the well-known networks by name, and imports weights that others have trained for
// them.
//
// [Network] returns the description of a network, from Conv4 to residual networks, MobileNets,
// ConvNeXt and transformers. Package nn runs it:
//
//	spec, err := zoo.Network("vit_s16", zoo.Options{Input: nn.Shape{H: 224, W: 224, C: 3}, Dim: 128})
//	net, err := nn.New(spec, nn.Options{Seed: 1})
//	file, err := zoo.ReadWeights("dino_deitsmall16_pretrain.pth")
//	report, err := zoo.Import(net, file, zoo.ImportOptions{})
//
// [Import] knows the names of torchvision, timm, DINO, CLIP and Hugging Face; [Guess] tells which
// network a file's weights are for. docs/design/nn.md lists both.
package zoo
