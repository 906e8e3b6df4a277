package run

import (
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
)

// none asks for nothing. An empty text leaves the choice to the data or the start.
const none = "none"

// The values of data.chroma. The published networks were trained on pictures whose colours
// were decoded smoothly; doing the same gains half a point of recall on cub100.
const (
	repeatChroma = "repeat"
	smoothChroma = "smooth"
)

// dataKeys says what to train and test on.
var dataKeys = []key{
	{
		name: "data.name", at: func(c *Config) any { return &c.Data.Name },
		help: "data set in the data folder, such as mnist",
		only: nameNotPath,
	},
	{
		name: "data.path", at: func(c *Config) any { return &c.Data.Path },
		help: "folder, manifest, benchmark root or file of features (.npy), instead of a name",
	},
	{
		name: "data.labels", at: func(c *Config) any { return &c.Data.Labels },
		help: "file of labels for ready features (.npy, .csv); empty: those in or beside the file of features",
	},
	{
		name: "data.crop", at: func(c *Config) any { return &c.Data.Crop },
		help: "cut images to the bounding boxes that CUB and Cars come with",
	},
	{
		name: "data.size", at: func(c *Config) any { return &c.Data.Size },
		help:   "side of the images in pixels; 0: chosen from the data",
		checks: []check{atLeast(0), atMost(4096, "")}, begun: always,
	},
	{
		name: "data.channels", at: func(c *Config) any { return &c.Data.Channels },
		help:   "1 (grey) or 3 (colour); 0: as in the images",
		values: []string{"1", "3"}, begun: always,
		checks: []check{func(_ *key, c *Config, bad report) {
			if n := c.Data.Channels; n != 0 && n != 1 && n != 3 {
				bad("%d is none of 0, 1, 3", n)
			}
		}},
	},
	{
		name: "data.label", at: func(c *Config) any { return &c.Data.Label },
		help: "column or rule to train with: coarse, parity, mod:3, groups:0-4|5-9; empty: the set's own",
	},
	{
		name: "data.fine", at: func(c *Config) any { return &c.Data.Fine },
		help: "column to score retrieval by; empty: the set's fine one",
	},
	{
		name: "data.split", at: func(c *Config) any { return &c.Data.Split },
		help: "official, images:0.2, classes, both:0.2, fold:1/4, benchmark; empty: the set's own, else images:0.2 " +
			"or what the sizes of the classes allow",
		values: []string{"official", "images:0.2", "classes", "both:0.2", "fold:1/4", "benchmark"},
		begun:  always,
	},
	{
		name: "data.train_classes", at: func(c *Config) any { return &c.Data.TrainClasses },
		help: "fine classes to train on, such as 0-5; empty: all that the split leaves",
	},
	{
		name: "data.test_classes", at: func(c *Config) any { return &c.Data.TestClasses },
		help: "fine classes to test on; empty: all that the split leaves",
	},
	{
		name: "data.train_limit", at: func(c *Config) any { return &c.Data.TrainLimit },
		help:   "use only the first n training samples of each fine class; 0: all",
		checks: []check{atLeast(0)},
	},
	{
		name: "data.test_limit", at: func(c *Config) any { return &c.Data.TestLimit },
		help:   "use only the first n test samples of each fine class; 0: all",
		checks: []check{atLeast(0)},
	},
	{
		name: "data.fit", at: func(c *Config) any { return &c.Data.Fit },
		help:   "how images are made square: stretch, cover (cut out the middle); empty: cover for colour images",
		values: []string{imaging.Stretch.String(), imaging.Cover.String()}, checks: []check{listed}, begun: always,
	},
	{
		name: "data.shorter", at: func(c *Config) any { return &c.Data.Shorter },
		help:   "with cover, the length of the shorter side before cutting; 0: size",
		checks: []check{atLeast(0)}, begun: always,
	},
	{
		name: "data.augment", at: func(c *Config) any { return &c.Data.Augment },
		help: "random changes to training images: none, characters, light, standard, strong; empty: none, from a " +
			"pretrained start light unless its body is frozen, and where the loss compares views by default " +
			"characters",
		values: imaging.Augmentations(), begun: always,
		checks: []check{readBy(func(s string) error { _, err := imaging.ParseAugment(s); return err })},
	},
	{
		name: "data.views", at: func(c *Config) any { return &c.Data.Views },
		help: "with network.freeze=body, number of augmented views of each training image to compute features of; " +
			"0: 4, without augmentation none",
		checks: []check{atLeast(0)}, begun: always,
		only: func(c *Config) string {
			if !c.Network.frozenBody() {
				return "only with network.freeze=" + wholeBody
			}
			return ""
		},
	},
	{
		name: "data.pixels", at: func(c *Config) any { return &c.Data.Pixels },
		help: "range of pixel values: unit, symmetric, inverted, imagenet, clip, bn_inception; empty: the " +
			"pretrained network's, else unit",
		values: imaging.Normalizations(), begun: always,
		checks: []check{readBy(func(s string) error { _, err := imaging.ParseNormalization(s); return err })},
	},
	{
		name: "data.chroma", at: func(c *Config) any { return &c.Data.Chroma },
		help: "how the colours of JPEG files are enlarged: repeat; smooth, as by libjpeg; empty: smooth for a " +
			"pretrained network, else repeat",
		values: []string{repeatChroma, smoothChroma}, checks: []check{listed}, begun: always,
	},
	{
		name: "data.rounded", at: func(c *Config) any { return &c.Data.Rounded },
		help: "round pixels to 8 bits again before they are normalised, as PIL does: kindred-gpu then sends a " +
			"quarter of the bytes",
	},
	{
		name: "data.validation", at: func(c *Config) any { return &c.Data.Validation },
		help: "what is cut off the training part to choose the best epoch: none, classes:0.2, images:0.1, or " +
			"as-test:0.2, classes if the test is on classes that do not train and else images; empty: none, from " +
			"a pretrained start as-test:0.2",
		values: []string{none, "classes:0.2", "images:0.1", "as-test:0.2"}, begun: always,
	},
	{
		name: "data.fold", at: func(c *Config) any { return &c.Data.Fold },
		help: "test on a part of the training part, to choose settings: K/N, fold K of N of its classes; " +
			"images:K/N, of the images of every class; empty: the test part itself",
	},
	{
		name: "data.group", at: func(c *Config) any { return &c.Data.Group },
		help: "what was taken together and stays on one side of every division by images, validation and folds " +
			"included: found (bursts and copies), folder, taken (one day), camera, place (about 100 m), by the " +
			"files' EXIF; a column of a manifest; none; empty: found for " +
			"photographs from a pretrained start, else none",
		values: []string{data.GroupFound, data.GroupFolder, data.GroupTaken, data.GroupCamera, data.GroupPlace,
			data.GroupNone},
		begun: always,
	},
	{
		name: "data.cache", at: func(c *Config) any { return &c.Data.Cache },
		help: "decode image files once, into a file in the user's cache folder",
	},
	{
		name: "data.outside", at: func(c *Config) any { return &c.Data.Outside },
		help: "let manifests and lists name images outside their folder",
	},
	{
		name: "data.strict", at: func(c *Config) any { return &c.Data.Strict },
		help: "end at the first image that cannot be read or has no label; otherwise such images are left out, " +
			"counted and named at the end",
	},
}

// nameNotPath refuses a data.name that is a path, unless data.path is the same.
func nameNotPath(c *Config) string {
	d := &c.Data
	if d.Path != "" && d.Path != d.Name && strings.ContainsAny(d.Name, "/\\") {
		return fmt.Sprintf("%q is a path: give it as data.path", d.Name)
	}
	return ""
}
