package zoo

import (
	"strconv"

	"github.com/kindred-ml/kindred/nn"
)

func mnistLayers(o Options) []nn.Layer {
	return append([]nn.Layer{
		{Kind: nn.Conv, Name: "conv1", Out: 32, Kernel: 3},
		{Kind: nn.Conv, Name: "conv2", Out: 64, Kernel: 3},
		{Kind: nn.ReLU},
		{Kind: nn.BatchNorm, Name: "bn"},
		{Kind: nn.MaxPool, Kernel: 2},
		{Kind: nn.Flatten},
		{Kind: nn.Dense, Name: "fc1", Out: 128},
	}, head(o, "fc2", nn.InitDefault)...)
}

func mlpLayers(o Options) []nn.Layer {
	l := []nn.Layer{{Kind: nn.Flatten}, {Kind: nn.Dense, Name: "fc1", Out: valueOr(o.Width, 512)}, {Kind: nn.ReLU}}
	return append(l, head(o, "fc2", nn.InitDefault)...)
}

func linearLayers(o Options) []nn.Layer {
	return append([]nn.Layer{{Kind: nn.Flatten}}, head(o, "fc", nn.InitDefault)...)
}

func conv4Layers(o Options) []nn.Layer {
	var l []nn.Layer
	for i := 1; i <= 4; i++ {
		n := strconv.Itoa(i)
		l = append(l,
			nn.Layer{Kind: nn.Conv, Name: "conv" + n, Out: valueOr(o.Width, 64), Kernel: 3, Pad: 1, NoBias: true},
			nn.Layer{Kind: nn.BatchNorm, Name: "bn" + n},
			nn.Layer{Kind: nn.ReLU},
			nn.Layer{Kind: nn.MaxPool, Kernel: 2})
	}
	l = append(l, nn.Layer{Kind: nn.Flatten})
	return append(l, head(o, "fc", nn.InitDefault)...)
}

func valueOr(n, otherwise int) int {
	if n != 0 {
		return n
	}
	return otherwise
}
