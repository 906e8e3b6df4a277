package nn

// Kind says what a layer computes. Its text is its name.
type Kind string

// The kinds of layers. Names and defaults are PyTorch's.
const (
	Conv      Kind = "conv"       // Out filters of Kernel x Kernel or KernelW; Stride, Pad, PadEnd, Groups, NoBias
	Dense     Kind = "dense"      // Out values, each a weighted sum of all inputs; NoBias
	Linear    Kind = "linear"     // Out values at each position, each a weighted sum of its channels; NoBias
	Attention Kind = "attention"  // Heads, Causal; channels are queries, keys, values: softmax(q k'/sqrt(d)) v
	BatchNorm Kind = "batch_norm" // per channel; Momentum (default 0.1), Eps (default 1e-5)
	LayerNorm Kind = "layer_norm" // over the channels of each position; Eps (default 1e-5)

	ReLU        Kind = "relu"         // max(x, 0)
	ReLU6       Kind = "relu6"        // min(max(x, 0), 6)
	SiLU        Kind = "silu"         // x sigmoid(x)
	HardSwish   Kind = "hard_swish"   // x min(max(x + 3, 0), 6) / 6
	Sigmoid     Kind = "sigmoid"      // 1 / (1 + exp(-x))
	HardSigmoid Kind = "hard_sigmoid" // min(max(x + 3, 0), 6) / 6
	GELU        Kind = "gelu"         // x (1 + erf(x/sqrt(2))) / 2
	GELUTanh    Kind = "gelu_tanh"    // x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2
	QuickGELU   Kind = "quick_gelu"   // x sigmoid(1.702 x)

	MaxPool       Kind = "max_pool"        // Kernel, Stride (default Kernel), Pad and PadEnd (never the maximum)
	AvgPool       Kind = "avg_pool"        // Kernel, Stride (default Kernel), Pad and PadEnd (zeros; NoPad: left out)
	GlobalAvgPool Kind = "global_avg_pool" // the mean over all positions from At on: 1 x 1 x C
	GEMPool       Kind = "gem_pool"        // (mean of max(x, Eps)^p over positions)^(1/p); Start of p (default 3)
	AttentionPool Kind = "attention_pool"  // Heads; channels are keys and values, which one learned query attends to
	Flatten       Kind = "flatten"         // to a vector; on disk in PyTorch's order, channel first

	Tokens    Kind = "tokens"     // Out learned positions (class token, registers) inserted before position At
	TakeToken Kind = "take_token" // position At alone: 1 x 1 x C
	Positions Kind = "positions"  // x + a learned value for each position and channel (position embedding)
	Rotary    Kind = "rotary"     // Heads, Base; queries and keys turned by angles of row and column, before attention
	Scale     Kind = "scale"      // x times a learned value for each channel (layer scale); Start (default 1)
	Shift     Kind = "shift"      // x + a learned value for each channel; Start (default 0)

	Sequential Kind = "sequential" // Layers, one after the other
	Residual   Kind = "residual"   // Layers(x) + Shortcut(x); no Shortcut is x itself
	Multiply   Kind = "multiply"   // Layers(x) Shortcut(x); Layers may make 1 x 1 x C: squeeze and excite
	Concat     Kind = "concat"     // the outputs of Layers for x, side by side; an empty sequential gives x

	Channels Kind = "channels" // Out channels from channel At on
	Shuffle  Kind = "shuffle"  // channel i of Groups g becomes channel (i mod C/g) g + i div (C/g)

	// Operators is a graph of ONNX operators as they stand, frozen: Graph, Out values of it, Room,
	// ChannelFirst. It takes the network's input.
	Operators Kind = "operators"

	Dropout         Kind = "dropout"          // zero with probability Rate, else x/(1-Rate); training only
	StochasticDepth Kind = "stochastic_depth" // the same for all values of an image at once
	L2Normalize     Kind = "l2_normalize"     // x / max(|x|, 1e-12) over all values of an image
)

// descriptors hold what this package knows of each kind: a new one is an entry here
// and a descriptor in layer_NAME.go.
var descriptors = [...]struct {
	kind Kind
	descriptor
}{
	{Conv, convLayer{}}, {Dense, denseLayer{}}, {Linear, linearLayer{}}, {Attention, attentionLayer{}},
	{BatchNorm, batchNormLayer{}}, {LayerNorm, layerNormLayer{}},
	{ReLU, actLayer{act: relu}}, {ReLU6, actLayer{act: relu6}}, {SiLU, actLayer{act: silu}},
	{HardSwish, actLayer{act: hardSwish}}, {Sigmoid, actLayer{act: sigmoid}},
	{HardSigmoid, actLayer{act: hardSigmoid}}, {GELU, actLayer{act: gelu}}, {GELUTanh, actLayer{act: geluTanh}},
	{QuickGELU, actLayer{act: quickGELU}},
	{MaxPool, poolLayer{}}, {AvgPool, poolLayer{average: true}}, {GlobalAvgPool, globalPoolLayer{}},
	{GEMPool, gemLayer{}}, {AttentionPool, attentionPoolLayer{}}, {Flatten, flattenLayer{}},
	{Tokens, tokensLayer{}}, {TakeToken, takeTokenLayer{}},
	{Positions, positionsLayer{}}, {Rotary, rotaryLayer{}}, {Scale, affineLayer{scale: true}}, {Shift, affineLayer{}},
	{Sequential, sequentialLayer{}}, {Residual, residualLayer{}}, {Multiply, mulLayer{}},
	{Concat, concatLayer{}}, {Channels, channelsLayer{}}, {Shuffle, shuffleLayer{}}, {Operators, operatorsLayer{}},
	{Dropout, dropoutLayer{}},
	{StochasticDepth, dropPathLayer{}}, {L2Normalize, l2Layer{}},
}

// Kinds lists the kinds of layers.
func Kinds() []Kind {
	list := make([]Kind, len(descriptors))
	for i := range descriptors {
		list[i] = descriptors[i].kind
	}
	return list
}

// Layer is a node of a network's description. Fields that do not belong to its
// kind must be zero. Name is the layer's part of its parameters' names: those of a layer
// "bn1" within a sequential "0" within a sequential "layer1" start with "layer1.0.bn1.";
// a layer without a name adds nothing. Tokens, Positions, Scale, Shift and GEMPool have
// one parameter, with the name of the layer itself: "cls_token", "blocks.0.ls1.gamma".
type Layer struct {
	Kind    Kind   `json:"kind"`
	Name    string `json:"name,omitempty"`
	Out     int    `json:"out,omitempty"`      // filters, outputs of a dense or linear layer, tokens, channels
	Kernel  int    `json:"kernel,omitempty"`   // height and width
	KernelW int    `json:"kernel_w,omitempty"` // width of a convolution's filters if it is not Kernel
	PadW    int    `json:"pad_w,omitempty"`    // on the left and right, with KernelW; Pad is then at the top and bottom
	Stride  int    `json:"stride,omitempty"`   // 0: 1 for convolutions, Kernel for pools
	Pad     int    `json:"pad,omitempty"`      // on all four sides
	PadEnd  int    `json:"pad_end,omitempty"`  // added to Pad, at the bottom and on the right only
	NoPad   bool   `json:"no_pad,omitempty"`   // of avg_pool: padding does not count
	// ChannelFirst, of flatten: the vector itself starts with the values of the first
	// channel, as an embedding in PyTorch's order does, and not only its form on disk. Of
	// operators: the graph takes images with the channels in front.
	ChannelFirst bool `json:"channel_first,omitempty"`
	Groups       int  `json:"groups,omitempty"` // 0: 1; -1: one group per input channel (depthwise, convolutions)
	Heads        int  `json:"heads,omitempty"`  // of attention; 0: 1
	// Causal, of attention: a position attends to those before it and to itself alone.
	Causal bool    `json:"causal,omitempty"`
	Base   float64 `json:"base,omitempty"`    // of rotary, whose periods are Base^(4i/d), of d values a head; 0: 100
	At     int     `json:"at,omitempty"`      // a position: tokens, take_token, global_avg_pool; a channel: channels
	NoBias bool    `json:"no_bias,omitempty"` // convolution, dense or linear layer without bias
	// Rank, of a linear layer: training leaves its weight W and bias as they are, and adds
	// Alpha/Rank B A to W, where A has Rank rows (LoRA, Hu et al. 2021). Alpha 0: 2 Rank. See
	// Spec.WithLoRA.
	Rank  int     `json:"rank,omitempty"`
	Alpha float64 `json:"alpha,omitempty"`
	// NoKeyBias, of a linear layer that makes queries, keys and values: keys, the middle
	// third, have no bias. The parameter holds zeros for them.
	NoKeyBias bool    `json:"no_key_bias,omitempty"`
	Init      Init    `json:"init,omitempty"`     // initial weights
	Start     float64 `json:"start,omitempty"`    // initial value of a parameter
	Momentum  float64 `json:"momentum,omitempty"` // of running statistics; 0: 0.1
	Eps       float64 `json:"eps,omitempty"`      // added to the variance, 0: 1e-5; least of gem_pool, 0: 1e-6
	Rate      float64 `json:"rate,omitempty"`     // probability of dropout, stochastic depth; in [0, 1)
	// Graph, of operators, is an ONNX model. Its first input is one image; its other inputs, of
	// floating-point numbers, are parameters of the layer, under their names. Room is about how many
	// values it holds at once.
	Graph    []byte  `json:"graph,omitempty"`
	Room     int     `json:"room,omitempty"`
	Layers   []Layer `json:"layers,omitempty"`
	Shortcut []Layer `json:"shortcut,omitempty"`
}

// Init says how the weights of a convolution, dense or linear layer are drawn
// before training. With InitDefault biases follow PyTorch's default; otherwise they are
// zero. Its text is its name.
type Init string

const (
	// InitDefault is PyTorch's: weights and biases uniform in +-1/sqrt(fan in).
	InitDefault Init = ""
	// InitKaimingOut is normal with variance 2/(filters x kernel area / groups),
	// the choice of torchvision's residual networks (He et al. 2015, fan out).
	InitKaimingOut Init = "kaiming_out"
	// InitSmall is normal with standard deviation 0.01.
	InitSmall Init = "small"
	// InitTruncated is normal with standard deviation 0.02, drawn again beyond two
	// standard deviations: for transformers, their tokens and positions.
	InitTruncated Init = "truncated"
)

func inits() []Init { return []Init{InitDefault, InitKaimingOut, InitSmall, InitTruncated} }

// Shape is the height, width and channels of one image or activation. A vector
// of n values is 1 x 1 x n.
type Shape struct {
	H int `json:"h"`
	W int `json:"w"`
	C int `json:"c"`
}

// Len is the number of values.
func (s Shape) Len() int { return s.H * s.W * s.C }

// Spec describes a network: its input and its layers in order. Meta is free for the
// program that saves the network: normalisation of the input, class names.
type Spec struct {
	Name   string            `json:"name"`
	Input  Shape             `json:"input"`
	Layers []Layer           `json:"layers"`
	Meta   map[string]string `json:"meta,omitempty"`
}
