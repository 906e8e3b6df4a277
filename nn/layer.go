package nn

// Kind says what a layer computes.
type Kind string

// The kinds of layers. Names and defaults are PyTorch's.
const (
	Conv          Kind = "conv"            // Out filters of Kernel x Kernel; Stride, Pad, Groups, NoBias
	BatchNorm     Kind = "batch_norm"      // per channel; Momentum (default 0.1), Eps (default 1e-5)
	ReLU          Kind = "relu"            // max(x, 0)
	ReLU6         Kind = "relu6"           // min(max(x, 0), 6)
	MaxPool       Kind = "max_pool"        // Kernel, Stride (default Kernel), Pad (never the maximum)
	AvgPool       Kind = "avg_pool"        // Kernel, Stride (default Kernel), Pad (counted as zeros)
	GlobalAvgPool Kind = "global_avg_pool" // the mean over all positions: 1 x 1 x C
	Flatten       Kind = "flatten"         // to a vector; on disk in PyTorch's order, channel first
	Dense         Kind = "dense"           // Out values, each a weighted sum of all inputs; NoBias
	Residual      Kind = "residual"        // Layers(x) + Shortcut(x); no Shortcut is x itself
	Dropout       Kind = "dropout"         // zero with probability Rate, else x/(1-Rate); training only
	L2Normalize   Kind = "l2_normalize"    // x / max(|x|, 1e-12) over all values of an image
	Sequential    Kind = "sequential"      // Layers, one after the other
)

// Layer is a node of a network's description. Fields that do not belong to its
// kind must be zero. Name is the layer's part of its parameters' names: those of
// a layer "bn1" within a sequential "0" within a sequential "layer1" start with
// "layer1.0.bn1."; a layer without a name adds nothing.
type Layer struct {
	Kind     Kind    `json:"kind"`
	Name     string  `json:"name,omitempty"`
	Out      int     `json:"out,omitempty"`      // filters of a convolution, outputs of a dense layer
	Kernel   int     `json:"kernel,omitempty"`   // height and width
	Stride   int     `json:"stride,omitempty"`   // 0: 1 for convolutions, Kernel for pools
	Pad      int     `json:"pad,omitempty"`      // on all four sides
	Groups   int     `json:"groups,omitempty"`   // 0: 1; -1: one group per input channel (depthwise)
	NoBias   bool    `json:"no_bias,omitempty"`  // convolution or dense layer without bias
	Init     Init    `json:"init,omitempty"`     // how weights start
	Momentum float64 `json:"momentum,omitempty"` // of running statistics; 0: 0.1
	Eps      float64 `json:"eps,omitempty"`      // added to the variance; 0: 1e-5
	Rate     float64 `json:"rate,omitempty"`     // dropout probability, in [0, 1)
	Layers   []Layer `json:"layers,omitempty"`
	Shortcut []Layer `json:"shortcut,omitempty"`
}

// Init says how the weights of a convolution or dense layer are drawn before
// training. Biases follow PyTorch's default, or are zero if weights are not
// drawn by the default.
type Init string

const (
	// InitDefault is PyTorch's: weights and biases uniform in +-1/sqrt(fan in).
	InitDefault Init = ""
	// InitKaimingOut is normal with variance 2/(filters x kernel area / groups),
	// the choice of torchvision's residual networks (He et al. 2015, fan out).
	InitKaimingOut Init = "kaiming_out"
	// InitSmall is normal with standard deviation 0.01.
	InitSmall Init = "small"
)

// Shape is the height, width and channels of one image or activation. A vector
// of n values is 1 x 1 x n.
type Shape struct {
	H int `json:"h"`
	W int `json:"w"`
	C int `json:"c"`
}

// Len is the number of values.
func (s Shape) Len() int { return s.H * s.W * s.C }

// Spec describes a network: what goes in and the layers in order. Meta is free
// for use by whoever saves the network: normalisation of the input, class
// names.
type Spec struct {
	Name   string            `json:"name"`
	Input  Shape             `json:"input"`
	Layers []Layer           `json:"layers"`
	Meta   map[string]string `json:"meta,omitempty"`
}
