// Package spatial has the operators of ONNX that know the positions of an image: convolutions, pools, windows and
// resampling.
package spatial

import "github.com/kindred-ml/kindred/internal/network/graphrun/operator"

// Table has the operators of this package.
var Table = map[string]operator.Operator{
	"ConvTranspose": convTranspose, "ConvInteger": convInteger, "QLinearConv": qlinearConv, "Col2Im": col2Im,
	"MaxPool": pool2, "AveragePool": pool2, "LpPool": pool2,
	"Resize": resize, "Upsample": resize, "GridSample": gridSample, "AffineGrid": affineGrid,
}
