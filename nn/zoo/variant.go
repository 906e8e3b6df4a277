package zoo

import "github.com/kindred-ml/kindred/nn"

// padSame sets the padding of a network's convolutions of stride above 1 to TensorFlow's for
// images of h x w, whose size decides on which side there are more zeros. Kernels are odd.
func padSame(layers []nn.Layer, h, w int) (int, int) {
	for i := range layers {
		l := &layers[i]
		switch {
		case l.Kind == nn.Conv && l.Stride > 1:
			top, bottom := sameZeros(h, l.Kernel, l.Stride)
			left, right := sameZeros(w, l.Kernel, l.Stride)
			l.Pad, l.PadEnd = top, bottom-top
			if left != top || right != bottom {
				l.KernelW, l.PadW = l.Kernel, left
			}
			h, w = (h+l.Stride-1)/l.Stride, (w+l.Stride-1)/l.Stride
		case l.Kind == nn.Sequential || l.Kind == nn.Residual: // a Multiply holds the gate of pooled values
			h, w = padSame(l.Layers, h, w)
		}
	}
	return h, w
}

// sameZeros returns how many zeros TensorFlow adds before and after n values.
func sameZeros(n, kernel, stride int) (before, after int) {
	all := max((n+stride-1)/stride*stride-stride+kernel-n, 0)
	return all / 2, all - all/2
}

// setEps sets the epsilon of all batch norms.
func setEps(layers []nn.Layer, eps float64) {
	for i := range layers {
		if layers[i].Kind == nn.BatchNorm {
			layers[i].Eps = eps
		}
		setEps(layers[i].Layers, eps)
		setEps(layers[i].Shortcut, eps)
	}
}
