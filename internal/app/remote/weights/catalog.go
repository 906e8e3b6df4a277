package weights

import "cmp"

// Entry is a pretrained network.
type Entry struct {
	// Name is what it is asked for by.
	Name string `json:"name"`
	// Network is the one that the weights are for, as zoo.Network names it.
	Network string `json:"network"`
	// URL is the file's official address, and File its name in the cache folder:
	// the official one wherever that says what it is.
	URL  string `json:"url"`
	File string `json:"file"`
	// Bytes is the file's size; where Exact is false, about: as far as its
	// publisher says, or counted from the number of values.
	Bytes int64 `json:"bytes"`
	Exact bool  `json:"exact"`
	// SHA256 is the file's digest, or "": nobody is known to have published it.
	// The official names of torchvision's files carry its first eight digits.
	SHA256 string `json:"sha256"`
	// Trained says on what, and how; Top1 is the share of ImageNet's validation
	// images that are classified correctly, in percent, by the way in Measured;
	// 0 if no publisher's figure is known.
	Trained  string  `json:"trained"`
	Top1     float64 `json:"top1,omitempty"`
	Measured string  `json:"measured,omitempty"`
	// License is that of the code and, where they say so, of the weights. Terms of
	// the images that were trained on may apply besides.
	License string `json:"license"`
	// Size is the side of the images in pixels, cut from the middle of ones whose
	// shorter side is Shorter.
	Size    int `json:"size"`
	Shorter int `json:"shorter"`
	// Pixels says how values are normalised, as data.pixels does.
	Pixels string `json:"pixels"`
	// Resample is the filter by which images are resized, as data.resample names it.
	Resample string `json:"resample"`
	// Home is the page of the publisher.
	Home string `json:"home"`
}

// The ways in which Top1 is measured.
const (
	ByItself    = "by its own classifier"
	ByNearest   = "by the nearest training images (k-NN)"
	torchvision = "https://download.pytorch.org/models/"
	imagenet1k  = "ImageNet-1k, with labels"
)

// Catalog returns the known networks in the order of 'kindred weights list'.
//
// Where torchvision offers two files for a network this is the first, trained by
// the plain recipe. The later ones are better classifiers, by label smoothing
// among other things, which makes features worse for other sets (Kornblith et al.
// 2021, "Why do better loss functions lead to less transferable features?").
func Catalog() []Entry { return append(convolutional(), transformers()...) }

func convolutional() []Entry {
	const home = "https://pytorch.org/vision/stable/models.html"
	list := []Entry{
		{Name: "mobilenet_v2", File: "mobilenet_v2-b0353104.pth", Bytes: 14_213_448,
			SHA256: "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889", Top1: 71.878},
		{Name: "mobilenet_v3_small", File: "mobilenet_v3_small-047dcff4.pth", Bytes: 10_306_551, Exact: true,
			SHA256: "047dcff4addef86ea5bc2eff13c9614dc11f47ab1160d0a71a25e7db994f4e1f", Top1: 67.668},
		{Name: "mobilenet_v3_large", File: "mobilenet_v3_large-8738ca79.pth", Bytes: 22_139_423, Exact: true,
			SHA256: "8738ca797c879b547d18bbd15da5736ff2557b2036a9af72225393ca61759a04", Top1: 74.042},
		{Name: "efficientnet_b0", File: "efficientnet_b0_rwightman-7f5810bc.pth", Bytes: 21_444_401, Exact: true,
			SHA256: "7f5810bc96def8f7552d5b7e68d53c4786f81167d28291b21c0d90e1fca14934", Top1: 77.692,
			Resample: "bicubic"},
		{Name: "resnet18", File: "resnet18-f37072fd.pth", Bytes: 46_830_571, Exact: true,
			SHA256: "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec", Top1: 69.758},
		{Name: "resnet34", File: "resnet34-b627a593.pth", Bytes: 87_319_819, Exact: true,
			SHA256: "b627a593bcbe140c234610266fe4f8ae95ea42fc881d091c9b6052e6b1d0590f", Top1: 73.314},
		{Name: "resnet50", File: "resnet50-0676ba61.pth", Bytes: 102_530_333, Exact: true,
			SHA256: "0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a", Top1: 76.130},
		{Name: "convnext_tiny", File: "convnext_tiny-983f1562.pth", Bytes: 114_419_221, Exact: true,
			SHA256: "983f1562536e84ff750a1576fb08e54de751dbf2e17c0d8a4a13704341fdcd3d", Top1: 82.520, Shorter: 236},
		{Name: "vit_base_patch16", Network: "vit_b16", File: "vit_b_16-c867db91.pth", Bytes: 346_328_529, Exact: true,
			SHA256: "c867db91d3e12c6cbadabb610d73c24a546bf82d8c03a9fea34f43a712ddb0e9", Top1: 81.072},
	}
	for i := range list {
		e := &list[i]
		e.Network, e.URL = cmp.Or(e.Network, e.Name), torchvision+e.File
		e.Trained, e.Measured = imagenet1k, ByItself
		e.License, e.Home = "BSD-3-Clause", home
		e.Size, e.Pixels, e.Resample = 224, "imagenet", cmp.Or(e.Resample, "bilinear")
		e.Shorter = cmp.Or(e.Shorter, 256)
	}
	return list
}

func transformers() []Entry {
	return []Entry{
		{
			Name: "vit_tiny_patch16", Network: "vit_t16",
			URL: "https://huggingface.co/timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k/resolve/main/" +
				"model.safetensors",
			File: "vit_tiny_patch16_224.augreg_in21k_ft_in1k.safetensors", Bytes: 22_900_000,
			Trained: "ImageNet-21k, then ImageNet-1k, with labels", License: "Apache-2.0",
			Size: 224, Shorter: 248, Pixels: "symmetric", Resample: "bicubic",
			Home: "https://huggingface.co/timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k",
		},
		{
			Name: "dino_vits16", Network: "vit_s16",
			URL:  "https://dl.fbaipublicfiles.com/dino/dino_deitsmall16_pretrain/dino_deitsmall16_pretrain.pth",
			File: "dino_deitsmall16_pretrain.pth", Bytes: 86_700_000,
			Trained: "ImageNet-1k, without labels (DINO)", Top1: 74.5, Measured: ByNearest,
			License: "Apache-2.0", Size: 224, Shorter: 256, Pixels: "imagenet", Resample: "bicubic",
			Home: "https://github.com/facebookresearch/dino",
		},
		{
			Name: "dinov2_vits14", Network: "vit_s14",
			URL:  "https://dl.fbaipublicfiles.com/dinov2/dinov2_vits14/dinov2_vits14_pretrain.pth",
			File: "dinov2_vits14_pretrain.pth", Bytes: 88_283_115, Exact: true,
			SHA256:  "b938bf1bc15cd2ec0feacfe3a1bb553fe8ea9ca46a7e1d8d00217f29aef60cd9",
			Trained: "LVD-142M, without labels (DINOv2)", Top1: 79.0, Measured: ByNearest,
			License: "Apache-2.0", Size: 224, Shorter: 256, Pixels: "imagenet", Resample: "bicubic",
			Home: "https://github.com/facebookresearch/dinov2",
		},
		{
			Name: "clip_vit_b32", Network: "clip_vit_b32",
			URL: "https://huggingface.co/timm/vit_base_patch32_clip_224.openai/resolve/" +
				"a6f597a30f7b82c51704746581f9a4e41421e878/open_clip_model.safetensors",
			File: "clip_vit_base_patch32.openai.safetensors", Bytes: 605_143_284, Exact: true,
			SHA256:  "e6d1bd7789aa45192b3bf90570a789b478bae1b74ebcce7eddd908e83a2b7c31",
			Trained: "pictures with captions from the web (CLIP)", // both towers are in the file
			License: "MIT", Size: 224, Shorter: 224, Pixels: "clip", Resample: "bicubic",
			Home: "https://github.com/openai/CLIP",
		},
	}
}
