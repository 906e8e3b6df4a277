package zoo

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/nn"
)

// Options are the choices of the named networks. The zero value of each
// is its default.
type Options struct {
	Input     nn.Shape // of the images, or 1 x 1 x n for vectors of features; required
	Dim       int      // length of the embedding; 0: 128
	Normalize bool     // L2-normalise the embedding
	HeadNorm  bool     // batch norm on the embedding, before normalisation
	Width     int      // conv4: filters (0: 64); mlp: hidden units (0: 512); transformers: channels
	Multiple  float64  // resnet*, mobilenet_*, efficientnet_b0, convnext_tiny, bn_inception: width multiplier; 0: 1
	Stem      Stem     // of residual networks, mobilenet_* and efficientnet_b0
	Pool      Pool     // of all but mnist, conv4, mlp and linear
	Dropout   float64  // before the embedding layer; 0: none
	// NoHead leaves the embedding layer out: the output are the network's features.
	// Dim and Dropout then have no effect.
	NoHead bool

	// Of transformers. 0 is the value of the named network; if the name does not
	// say it, Heads is one for each 64 channels, Registers and LayerScale none.
	Patch      int     // pixels of a patch's side
	Depth      int     // blocks
	Heads      int     // of attention
	Registers  int     // tokens besides the class token
	LayerScale float64 // initial scale of branches
	Hidden     int     // units of a block's perceptron; 0: four for each channel

	// Of the publishers' variants of a network, whose weights have the same names and
	// shapes. "" and 0 are the named network's own.
	Act     nn.Kind // activation of a transformer or of convnext_tiny
	Eps     float64 // epsilon of all norms; of convnext_tiny, of the last norm
	Padding Padding // of mobilenet_* and efficientnet_b0

	// DropPath is the probability that training leaves out the last block's
	// branches for an image; it grows linearly from 0 at the first block. Of
	// transformers, convnext_tiny and efficientnet_b0.
	DropPath float64
}

// Stem says how a residual network or MobileNet begins. Its text is its name.
type Stem string

const (
	// StemAuto is StemLarge for images of at least 96 pixels, else StemSmall.
	StemAuto Stem = ""
	// StemLarge is the published stem: ResNet's 7 x 7 convolution of stride 2 and 3
	// x 3 maximum pool of stride 2, MobileNet's convolution of stride 2.
	StemLarge Stem = "large"
	// StemSmall keeps small images large: ResNet starts with a 3 x 3 convolution
	// of stride 1 and no pool, MobileNet's first convolution has stride 1.
	StemSmall Stem = "small"
)

// Padding says how convolutions of stride 2 are padded. Its text is its name.
type Padding string

const (
	// PaddingDefault is the named network's own.
	PaddingDefault Padding = ""
	// PaddingSymmetric adds as many zeros before as after, as PyTorch does.
	PaddingSymmetric Padding = "symmetric"
	// PaddingSame is TensorFlow's: as few zeros as give ceil(size/stride) outputs, and of
	// an odd number the one more at the bottom and on the right.
	PaddingSame Padding = "same"
)

// Paddings lists the paddings that may be named.
func Paddings() []Padding { return []Padding{PaddingSymmetric, PaddingSame} }

// Activations lists the activations that Options.Act may be.
func Activations() []nn.Kind {
	return []nn.Kind{nn.GELU, nn.GELUTanh, nn.QuickGELU, nn.ReLU, nn.ReLU6, nn.SiLU, nn.HardSwish, nn.Sigmoid}
}

// defaultDim is the length of an embedding for which none is set.
const defaultDim = 128

// Pool says how the positions of a convolutional network or transformer become one
// vector of features. Its text is its name.
type Pool string

const (
	// PoolDefault is the network's own: the mean over positions, or a transformer's
	// class token.
	PoolDefault Pool = ""
	// PoolMean is the mean over positions; in a transformer over the image's
	// positions only.
	PoolMean Pool = "mean"
	// PoolGEM is the generalised mean with a trained power (Radenovic et al. 2018);
	// transformers do not have it.
	PoolGEM Pool = "gem"
	// PoolClass is a transformer's class token.
	PoolClass Pool = "cls"
)

func pools() []Pool { return []Pool{PoolDefault, PoolMean, PoolGEM, PoolClass} }

// MarshalText returns the pool's name.
func (p Pool) MarshalText() ([]byte, error) { return enum.MarshalText("pool", p, pools()) }

// UnmarshalText sets the pool by name; "" is the network's own.
func (p *Pool) UnmarshalText(text []byte) error { return enum.UnmarshalText("pool", p, text, pools()) }

func stems() []Stem { return []Stem{StemAuto, StemLarge, StemSmall} }

// MarshalText returns the stem's name.
func (s Stem) MarshalText() ([]byte, error) { return enum.MarshalText("stem", s, stems()) }

// UnmarshalText sets the stem by name; "" chooses by the image's size.
func (s *Stem) UnmarshalText(text []byte) error { return enum.UnmarshalText("stem", s, text, stems()) }

// check tests the options that do not depend on the network.
func (o *Options) check() error {
	for _, v := range []struct {
		name      string
		n, atMost int
	}{
		{"patch", o.Patch, 1 << 14}, {"width", o.Width, 1 << 20}, {"depth", o.Depth, maxDepth},
		{"heads", o.Heads, 1 << 20},
		{"registers", o.Registers, 1024}, {"hidden", o.Hidden, 1 << 20},
	} {
		if v.n < 0 || v.n > v.atMost {
			return fmt.Errorf("%s %d; it must be in 0..%d", v.name, v.n, v.atMost)
		}
	}
	if !(o.Multiple >= 0 && o.Multiple <= 64) {
		return fmt.Errorf("width multiplier %v; it must be in 0..64", o.Multiple)
	}
	if !(o.DropPath >= 0 && o.DropPath < 1) {
		return fmt.Errorf("drop path %v; it must be at least 0 and below 1", o.DropPath)
	}
	if !(o.Eps >= 0 && o.Eps < 1) {
		return fmt.Errorf("epsilon %v of norms; it must be at least 0 and below 1", o.Eps)
	}
	if err := enum.Check("activation", o.Act, append(Activations(), "")); err != nil {
		return err
	}
	if err := enum.Check("padding", o.Padding, append(Paddings(), PaddingDefault)); err != nil {
		return err
	}
	if err := enum.Check("pool", o.Pool, pools()); err != nil {
		return err
	}
	return enum.Check("stem", o.Stem, stems())
}

// multiple is the width multiplier.
func (o *Options) multiple() float64 {
	if o.Multiple == 0 {
		return 1
	}
	return o.Multiple
}

// pool makes one vector of an image's positions.
func (o *Options) pool() nn.Layer {
	if o.Pool == PoolGEM {
		return nn.Layer{Kind: nn.GEMPool, Name: "pool.p"}
	}
	return nn.Layer{Kind: nn.GlobalAvgPool}
}

// firstStride is the stride of a MobileNet's first convolution.
func (o *Options) firstStride() int {
	if o.largeStem() {
		return 2
	}
	return 1
}

// largeStem reports whether the network begins as it was published.
func (o *Options) largeStem() bool {
	return o.Stem == StemLarge || o.Stem == StemAuto && min(o.Input.H, o.Input.W) >= 96
}
