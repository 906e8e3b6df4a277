package run

import (
	"cmp"
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
)

// choosePreprocessing settles how images become the network's input. This depends on the start and on the images.
func choosePreprocessing(c *Config, set *data.Dataset, start *networkStart, notes *notes) error {
	d, n := &c.Data, &c.Network
	var said onnxnet.Preparation
	if start.file != nil {
		var remarks []string
		var err error
		if said, remarks, err = c.adoptNetworkInput(start.file); err != nil {
			return err
		}
		*notes = append(*notes, remarks...)
	}
	if set.Features == nil {
		if side := start.weights.Size; side > 0 {
			d.Size, d.Channels = cmp.Or(d.Size, side), cmp.Or(d.Channels, 3)
		}
		w, h, channels := set.Source.Shape()
		if set.Boxes != nil { // the boxes are cut out
			w, h = 0, 0
		}
		d.Channels = cmp.Or(d.Channels, channels, 3)
		d.Size = cmp.Or(d.Size, defaultSize(w, h, d.Channels))
		if start.file == nil {
			said = start.preprocessing.ForSide(d.Size)
			*notes = append(*notes, d.describePixelRange(&said)...)
		}
		if said.Unfit == "" {
			said.Fit = cmp.Or(said.Fit, defaultFit(d.Channels))
		}
		if d.Pixels == "" && said.Pixels == "" && start.weights.Pixels == "" && n.isPretrained() &&
			cmp.Or(n.Name, start.weights.Network) == caffeNetwork {
			d.Pixels = caffeNetwork
			notes.add("data.pixels is %s, the range of the network's published weights", caffeNetwork)
		}
	}
	said.Pixels = cmp.Or(start.weights.Pixels, said.Pixels)
	// Training adapts the network to the default, which is bilinear too, up to the rounding, and reads JPEG files
	// faster.
	if said.Resample = cmp.Or(start.weights.Resample, said.Resample); said.Resample == imaging.Bilinear.String() {
		said.Resample = ""
	}
	return d.usePreparation(said)
}

// adoptNetworkInput settles the size and the channels of images by the network of a file. It returns the
// preparation that the file states, and remarks for the user.
func (c *Config) adoptNetworkInput(net *onnxnet.Network) (onnxnet.Preparation, []string, error) {
	in, said := net.Spec.Input, net.Preparation
	notes := net.Notes
	if c.Data.Size == 0 && in.H != in.W {
		return said, nil, fmt.Errorf("network.pretrained: %s takes images of %d x %d, which are not square: set "+
			"data.size to the side of square images", c.Network.Pretrained, in.H, in.W)
	}
	if c.Data.Channels != 0 && c.Data.Channels != in.C {
		return said, nil, fmt.Errorf("data.channels is %d, but %s takes %d", c.Data.Channels, c.Network.Pretrained,
			in.C)
	}
	if said.Pixels == "" && c.Data.Pixels == "" {
		said.Pixels = "imagenet"
		notes = append(notes, "the model does not state its range of pixel values: imagenet is assumed; "+
			"set data.pixels if that is wrong")
	} else {
		notes = append(notes, c.Data.describePixelRange(&said)...)
	}
	c.Data.Size, c.Data.Channels = in.H, in.C
	return said, notes, nil
}

// describePixelRange gives the range of pixel values its name, if it has one, and tells which evidence decided.
func (d *DataConfig) describePixelRange(said *onnxnet.Preparation) []string {
	if n, err := imaging.ParseNormalization(said.Pixels); err == nil && said.Pixels != "" {
		said.Pixels = n.String()
	}
	if d.Pixels != "" || said.Pixels == "" || said.Source == "" {
		return nil
	}
	return []string{fmt.Sprintf("data.pixels is %s, from %s", said.Pixels, said.Source)}
}

// usePreparation settles how pictures are prepared, by the preparation that the network's file states.
func (d *DataConfig) usePreparation(said onnxnet.Preparation) error {
	if d.Fit == "" && said.Unfit != "" {
		return fmt.Errorf("%s: set data.fit to stretch or cover to make images square in another way", said.Unfit)
	}
	if d.Fit == "" || d.Fit == said.Fit {
		d.Fit, d.Shorter = said.Fit, cmp.Or(d.Shorter, said.Shorter)
	}
	d.Pixels = cmp.Or(d.Pixels, said.Pixels, defaultPixels)
	d.Resample = cmp.Or(d.Resample, said.Resample)
	if d.Colours == "" && said.RawColours {
		d.Colours = rawColours
	}
	return nil
}

// defaultPixels is the default range of pixel values.
const defaultPixels = "unit"

// caffeNetwork is the name of a network whose published weights all come from Caffe, and of the
// range of pixel values that they take.
const caffeNetwork = "bn_inception"

// defaultSize returns the default of data.size: the images' own side if they are small and
// square, 40 for line drawings, 64 for photographs.
func defaultSize(w, h, channels int) int {
	switch {
	case w == h && w > 0 && w <= 64:
		return w
	case channels == 1:
		return 40
	}
	return 64
}

// defaultFit returns how images with this number of channels are made square.
func defaultFit(channels int) string {
	if channels == 3 {
		return imaging.Cover.String()
	}
	return imaging.Stretch.String()
}

// chooseNetwork settles which network is trained, and the length of its embeddings unless a
// pretrained network decides it.
func chooseNetwork(c *Config, set *data.Dataset, start *networkStart) {
	n := &c.Network
	if start.file == nil {
		n.Name = cmp.Or(n.Name, start.weights.Network, defaultNetwork(&c.Data, set.Features != nil))
	}
	if !n.isPretrained() {
		n.Dim = cmp.Or(n.Dim, 128)
	}
	normalize := On
	if n.Dim > 0 && n.Dim < 4 {
		normalize = Off
	}
	n.Normalize = cmp.Or(n.Normalize, normalize)
}

// defaultNetwork returns the default network for the samples.
func defaultNetwork(d *DataConfig, hasFeatures bool) string {
	switch {
	case hasFeatures:
		return "mlp"
	case d.Size == 28 && d.Channels == 1:
		return "mnist"
	}
	return "conv4"
}
