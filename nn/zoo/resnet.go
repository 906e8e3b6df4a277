package zoo

import (
	"math"
	"strconv"

	"github.com/kindred-ml/kindred/nn"
)

// resnet is a residual network: four stages of blocks whose inner widths are 64, 128,
// 256, 512 (times Multiple) and whose outputs are expand times that.
type resnet struct {
	block  func(width, out, stride int) []nn.Layer
	expand int
	blocks []int // of each stage
}

func (r resnet) layers(o Options) []nn.Layer {
	base := 64
	if o.Multiple != 0 {
		base = max(1, int(math.Round(64*o.Multiple)))
	}
	var l []nn.Layer
	if o.largeStem() {
		l = append(l, resConv("conv1", base, 7, 2), nn.Layer{Kind: nn.BatchNorm, Name: "bn1"}, nn.Layer{Kind: nn.ReLU},
			nn.Layer{Kind: nn.MaxPool, Kernel: 3, Stride: 2, Pad: 1})
	} else {
		l = append(l, resConv("conv1", base, 3, 1), nn.Layer{Kind: nn.BatchNorm, Name: "bn1"}, nn.Layer{Kind: nn.ReLU})
	}
	channels := base
	for i, n := range r.blocks {
		width := base << i
		stage := nn.Layer{Kind: nn.Sequential, Name: "layer" + strconv.Itoa(i+1)}
		for b := range n {
			step := 1
			if i > 0 && b == 0 {
				step = 2
			}
			block := nn.Layer{Kind: nn.Residual, Name: strconv.Itoa(b), Layers: r.block(width, width*r.expand, step)}
			if step != 1 || channels != width*r.expand {
				block.Shortcut = []nn.Layer{{Kind: nn.Sequential, Name: "downsample", Layers: []nn.Layer{
					resConv("0", width*r.expand, 1, step), {Kind: nn.BatchNorm, Name: "1"}}}}
			}
			channels = width * r.expand
			stage.Layers = append(stage.Layers, block, nn.Layer{Kind: nn.ReLU})
		}
		l = append(l, stage)
	}
	l = append(l, o.pool())
	return append(l, head(o, "fc", nn.InitDefault)...)
}

// resConv is a convolution that keeps the size at stride 1.
func resConv(name string, out, kernel, stride int) nn.Layer {
	return nn.Layer{Kind: nn.Conv, Name: name, Out: out, Kernel: kernel, Stride: stride, Pad: kernel / 2, NoBias: true,
		Init: nn.InitKaimingOut}
}

func basicBlock(width, out, stride int) []nn.Layer {
	return []nn.Layer{
		resConv("conv1", width, 3, stride), {Kind: nn.BatchNorm, Name: "bn1"}, {Kind: nn.ReLU},
		resConv("conv2", out, 3, 1), {Kind: nn.BatchNorm, Name: "bn2"},
	}
}

func bottleneck(width, out, stride int) []nn.Layer {
	return []nn.Layer{
		resConv("conv1", width, 1, 1), {Kind: nn.BatchNorm, Name: "bn1"}, {Kind: nn.ReLU},
		resConv("conv2", width, 3, stride), {Kind: nn.BatchNorm, Name: "bn2"}, {Kind: nn.ReLU},
		resConv("conv3", out, 1, 1), {Kind: nn.BatchNorm, Name: "bn3"},
	}
}
