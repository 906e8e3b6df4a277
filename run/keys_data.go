package run

import (
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/run/internal/keys"
)

// none turns a setting off. An empty text leaves the choice to the data or the start.
const none = "none"

// The values of data.chroma. The published networks were trained on pictures whose colours were
// enlarged smoothly; doing the same gains half a point of recall on cub100.
const (
	repeatChroma = "repeat"
	smoothChroma = "smooth"
)

// The values of data.colours.
const (
	srgbColours = "srgb"
	rawColours  = published.Raw
)

// dataKeys are the keys of section data: what to train and test on.
var dataKeys = []key{
	{
		Name: "data.name", Pointer: func(c *Config) any { return &c.Data.Name },
		Help:         "data set in the data folder, such as mnist",
		Inapplicable: checkNameNotPath,
	},
	{
		Name: "data.path", Pointer: func(c *Config) any { return &c.Data.Path },
		Help: "folder, manifest, benchmark root or file of features (.npy), in place of a name",
	},
	{
		Name: "data.labels", Pointer: func(c *Config) any { return &c.Data.Labels },
		Help: "file of labels for ready features (.npy, .csv); empty: the labels in or beside the file of features",
	},
	{
		Name: "data.crop", Pointer: func(c *Config) any { return &c.Data.Crop },
		Help: "cut images to the bounding boxes of CUB and Cars",
	},
	{
		Name: "data.size", Pointer: func(c *Config) any { return &c.Data.Size },
		Help:   "side of the images in pixels; 0: chosen from the data",
		Checks: []check{keys.AtLeast(0), keys.AtMost(4096, "")}, UseRecorded: alwaysRecorded,
	},
	{
		Name: "data.channels", Pointer: func(c *Config) any { return &c.Data.Channels },
		Help:   "1 (grey) or 3 (colour); 0: as in the images",
		Values: []string{"1", "3"}, UseRecorded: alwaysRecorded,
		Checks: []check{func(v any, _ []string, bad report) {
			if n := v.(int); n != 0 && n != 1 && n != 3 {
				bad("%d: must be 0, 1 or 3", n)
			}
		}},
	},
	{
		Name: "data.label", Pointer: func(c *Config) any { return &c.Data.Label },
		Help: "column or rule that gives the training label: fine, coarse, parity, mod:3, groups:0-4|5-9; empty: the " +
			"set's own; of two levels of folders chosen by their sizes",
		UseRecorded: alwaysRecorded,
	},
	{
		Name: "data.fine", Pointer: func(c *Config) any { return &c.Data.Fine },
		Help: "column that scores retrieval; empty: the set's fine labels, or coarse if folders in class folders are " +
			"no classes",
		UseRecorded: alwaysRecorded,
	},
	{
		Name: "data.split", Pointer: func(c *Config) any { return &c.Data.Split },
		Help: "official, images:0.2, classes, both:0.2, fold:1/4, benchmark; empty: the set's own split, else " +
			"images:0.2, or classes if most classes are small",
		Values:      []string{"official", "images:0.2", "classes", "both:0.2", "fold:1/4", "benchmark"},
		UseRecorded: alwaysRecorded,
	},
	{
		Name: "data.train_classes", Pointer: func(c *Config) any { return &c.Data.TrainClasses },
		Help: "fine classes to train on, such as 0-5; empty: all classes of the training side",
	},
	{
		Name: "data.test_classes", Pointer: func(c *Config) any { return &c.Data.TestClasses },
		Help: "fine classes to test on; empty: all classes of the test side",
	},
	{
		Name: "data.train_limit", Pointer: func(c *Config) any { return &c.Data.TrainLimit },
		Help:   "use only the first n training samples of each fine class; 0: all",
		Checks: []check{keys.AtLeast(0)},
	},
	{
		Name: "data.test_limit", Pointer: func(c *Config) any { return &c.Data.TestLimit },
		Help:   "use only the first n test samples of each fine class; 0: all",
		Checks: []check{keys.AtLeast(0)},
	},
	{
		Name: "data.fit", Pointer: func(c *Config) any { return &c.Data.Fit },
		Help:   "how images are made square: stretch, cover (cut out the middle); empty: cover for colour images",
		Values: []string{prepare.Stretch.String(), prepare.Cover.String()}, Checks: []check{keys.OneOf},
		UseRecorded: alwaysRecorded,
	},
	{
		Name: "data.shorter", Pointer: func(c *Config) any { return &c.Data.Shorter },
		Help:   "length of the shorter side before the middle is cut out, with stretch of both sides; 0: size",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: alwaysRecorded,
	},
	{
		Name: "data.resample", Pointer: func(c *Config) any { return &c.Data.Resample },
		Help: "resize images exactly as Pillow does, by one of its filters; empty: the pretrained network's, else " +
			"bilinear without rounding in between, from JPEG files that are reduced while they are decoded",
		Values: prepare.Filters(), Checks: []check{keys.OneOf}, UseRecorded: alwaysRecorded,
	},
	{
		Name: "data.augment", Pointer: func(c *Config) any { return &c.Data.Augment },
		Help: "random changes to training images: none, characters, light, standard, strong; empty: light from a " +
			"pretrained start with a trained body, characters if the default loss compares views, else none",
		Values: prepare.Augmentations(), UseRecorded: alwaysRecorded,
		Checks: []check{keys.ParsedBy(func(s string) error { _, err := prepare.ParseAugment(s); return err })},
	},
	{
		Name: "data.views", Pointer: func(c *Config) any { return &c.Data.Views },
		Help: "number of augmented views of each training image with network.freeze=body; 0: 4, or none without " +
			"augmentation",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: alwaysRecorded,
		Inapplicable: func(c *Config) string {
			if !c.Network.hasFrozenBody() {
				return "only with network.freeze=" + wholeBody
			}
			return ""
		},
	},
	{
		Name: "data.pixels", Pointer: func(c *Config) any { return &c.Data.Pixels },
		Help: "range of pixel values: unit, symmetric, inverted, byte, imagenet, clip, bn_inception; empty: " +
			"the pretrained network's, else unit",
		Values: prepare.Normalizations(), UseRecorded: alwaysRecorded,
		Checks: []check{keys.ParsedBy(func(s string) error { _, err := prepare.ParseNormalization(s); return err })},
	},
	{
		Name: "data.chroma", Pointer: func(c *Config) any { return &c.Data.Chroma },
		Help: "how colours of JPEG and AVIF files are enlarged: repeat, or smooth as in libjpeg; empty: smooth for a " +
			"pretrained network, else repeat",
		Values: []string{repeatChroma, smoothChroma}, Checks: []check{keys.OneOf}, UseRecorded: alwaysRecorded,
	},
	{
		Name: "data.colours", Pointer: func(c *Config) any { return &c.Data.Colours },
		Help: "what becomes of colours of another space than sRGB that a file declares (ICC, gAMA, cICP, nclx): srgb " +
			"(converted), or raw as in Pillow and torchvision; empty: srgb",
		Values: []string{srgbColours, rawColours}, Checks: []check{keys.OneOf}, UseRecorded: alwaysRecorded,
	},
	{
		Name: "data.rounded", Pointer: func(c *Config) any { return &c.Data.Rounded },
		Help: "data.resample=bilinear where data.resample is empty; with either, kindred-gpu sends bytes, a quarter " +
			"of the data",
	},
	{
		Name: "data.validation", Pointer: func(c *Config) any { return &c.Data.Validation },
		Help: "part of the training images that chooses the best epoch: none, classes:0.2, images:0.1, or " +
			"as-test:0.2 (classes if the test has other classes, else images); empty: as-test:0.2 from a pretrained " +
			"start, else none",
		Values: []string{none, "classes:0.2", "images:0.1", "as-test:0.2"}, UseRecorded: alwaysRecorded,
	},
	{
		Name: "data.fold", Pointer: func(c *Config) any { return &c.Data.Fold },
		Help: "test on a part of the training images, to choose settings: K/N, fold K of N of the classes; " +
			"images:K/N, of the images of every class; empty: the test itself",
	},
	{
		Name: "data.group", Pointer: func(c *Config) any { return &c.Data.Group },
		Help: "what keeps photos that were taken together on one side of a split: found (bursts and copies), " +
			"folder, taken (one day), camera, place (about 100 m), a manifest's column, none; empty: found for " +
			"photographs from a pretrained start, else none",
		Values: []string{split.GroupFound, split.GroupFolder, split.GroupTaken, split.GroupCamera, split.GroupPlace,
			split.GroupNone},
		UseRecorded: alwaysRecorded,
	},
	{
		Name: "data.cache", Pointer: func(c *Config) any { return &c.Data.Cache },
		Help: "decode image files once, into a file in the user's cache folder",
	},
	{
		Name: "data.outside", Pointer: func(c *Config) any { return &c.Data.Outside },
		Help: "let manifests and lists name images outside their folder",
	},
	{
		Name: "data.strict", Pointer: func(c *Config) any { return &c.Data.Strict }, Opposite: "data.skip_corrupt",
		Help: "end at the first image that cannot be read or has no label; otherwise such images are left out, " +
			"counted and named at the end",
	},
}

// checkNameNotPath refuses a data.name that is a path and differs from data.path.
func checkNameNotPath(c *Config) string {
	d := &c.Data
	if d.Path != "" && d.Path != d.Name && strings.ContainsAny(d.Name, "/\\") {
		return fmt.Sprintf("%q is a path: give it as data.path", d.Name)
	}
	return ""
}
