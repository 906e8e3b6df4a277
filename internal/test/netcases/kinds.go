package netcases

import "github.com/kindred-ml/kindred/nn"

// Short ways to write the layers of test cases.

func newCase(h, w, c int, layers ...nn.Layer) *nn.Spec {
	return &nn.Spec{Name: "case", Input: nn.Shape{H: h, W: w, C: c}, Layers: layers}
}

// newDenseCase returns a case that ends with a dense layer.
func newDenseCase(h, w, c int, layers ...nn.Layer) *nn.Spec {
	return newCase(h, w, c, append(layers, newLayer(nn.Flatten), dense("end", 3))...)
}

func newLayer(k nn.Kind) nn.Layer { return nn.Layer{Kind: k} }

func newNamedLayer(k nn.Kind, name string) nn.Layer { return nn.Layer{Kind: k, Name: name} }

func dense(name string, out int) nn.Layer { return nn.Layer{Kind: nn.Dense, Name: name, Out: out} }

func conv1(name string, out int) nn.Layer {
	return nn.Layer{Kind: nn.Conv, Name: name, Out: out, Kernel: 1}
}

func conv3(name string, out int) nn.Layer {
	return nn.Layer{Kind: nn.Conv, Name: name, Out: out, Kernel: 3, Pad: 1, NoBias: true}
}

func batchNorm(name string) nn.Layer { return newNamedLayer(nn.BatchNorm, name) }

func branch(k nn.Kind, name string, layers ...nn.Layer) nn.Layer {
	return nn.Layer{Kind: k, Name: name, Layers: layers}
}

func newDropPath(rate float64) nn.Layer { return nn.Layer{Kind: nn.StochasticDepth, Rate: rate} }

// aloneCases returns a case of every kind of which a layer needs no field.
func aloneCases() map[string]*nn.Spec {
	cases := map[string]*nn.Spec{}
	for _, k := range nn.Kinds() {
		if spec := newDenseCase(3, 4, 2, conv1("c", 12), newNamedLayer(k, "l")); spec.Check() == nil {
			cases[string(k)+" alone"] = spec
		}
	}
	return cases
}

// activationCases returns every curved activation after a norm, and inside and
// after a residual sum.
func activationCases() map[string]*nn.Spec {
	cases := map[string]*nn.Spec{}
	for _, k := range []nn.Kind{nn.SiLU, nn.HardSwish, nn.Sigmoid, nn.HardSigmoid, nn.GELU, nn.GELUTanh, nn.QuickGELU} {
		cases["norm "+string(k)] = newDenseCase(4, 5, 2, conv3("c", 3), batchNorm("n"), newLayer(k))
		cases["residual of "+string(k)] = newDenseCase(3, 3, 2, conv3("x", 3),
			branch(nn.Residual, "r", newLayer(k), conv3("a", 3), batchNorm("an")), newLayer(k))
	}
	return cases
}

// squeezeExcite returns squeeze and excite of c channels.
func squeezeExcite(c int, act nn.Kind) nn.Layer {
	return branch(nn.Multiply, "se", newLayer(nn.GlobalAvgPool), conv1("fc1", 2), newLayer(nn.ReLU),
		conv1("fc2", c), newLayer(act))
}

// productCases returns products, scales and branches that are dropped at random.
func productCases() map[string]*nn.Spec {
	relu, silu := newLayer(nn.ReLU), newLayer(nn.SiLU)
	scale, shift := newNamedLayer(nn.Scale, "s"), newNamedLayer(nn.Shift, "t")
	two := branch(nn.Multiply, "m", conv3("a", 4))
	two.Shortcut = []nn.Layer{conv3("b", 4), newLayer(nn.Sigmoid)}
	both := branch(nn.Residual, "r", conv3("a", 3), batchNorm("an"), newDropPath(0.3))
	both.Shortcut = []nn.Layer{conv3("b", 3), batchNorm("bn")}
	return map[string]*nn.Spec{
		"excite": newDenseCase(4, 3, 2, conv3("c", 5), batchNorm("n"), relu, squeezeExcite(5, nn.HardSigmoid),
			conv3("d", 3),
			batchNorm("dn")),
		"excite swish":        newDenseCase(4, 3, 2, conv3("c", 5), batchNorm("n"), silu, squeezeExcite(5, nn.Sigmoid)),
		"excite first":        newDenseCase(4, 3, 2, squeezeExcite(2, nn.Sigmoid)),
		"product":             newDenseCase(3, 3, 2, conv3("x", 3), two),
		"product with itself": newDenseCase(3, 3, 2, conv3("x", 3), branch(nn.Multiply, "m", relu)),
		"product and sum": newDenseCase(3, 3, 2, conv3("x", 3),
			branch(nn.Residual, "r", branch(nn.Multiply, "", newLayer(nn.GlobalAvgPool), newLayer(nn.Sigmoid)))),
		"scale":             newDenseCase(3, 4, 2, conv3("c", 3), nn.Layer{Kind: nn.Scale, Name: "s", Start: 0.5}),
		"scale first":       newDenseCase(3, 4, 2, shift, scale, conv3("c", 3)),
		"shift":             newDenseCase(3, 4, 2, conv3("c", 3), shift, relu),
		"scale of a vector": newCase(2, 3, 2, conv3("c", 2), newLayer(nn.Flatten), scale, shift, dense("b", 2)),
		"scaled branch": newDenseCase(3, 3, 2, conv3("x", 3), branch(nn.Residual, "r", shift, scale),
			branch(nn.Residual, "q", shift)),
		"dropped branch": newDenseCase(3, 3, 2, conv3("x", 3), batchNorm("xn"),
			branch(nn.Residual, "r", conv3("a", 3), batchNorm("an"), newDropPath(0.5)), relu),
		"dropped branch of two": newDenseCase(3, 3, 2, conv3("x", 3), both),
		"dropped input":         newDenseCase(3, 3, 2, branch(nn.Residual, "r", conv3("a", 2), newDropPath(0.3))),
		"dropped alone":         newDenseCase(3, 3, 2, conv3("x", 3), newDropPath(0.5), conv3("y", 3), newDropPath(0)),
	}
}

// branchCases returns networks of parallel branches; several branches start from one value.
func branchCases() map[string]*nn.Spec {
	relu := newLayer(nn.ReLU)
	join := func(branches ...nn.Layer) nn.Layer { return branch(nn.Concat, "j", branches...) }
	of := func(layers ...nn.Layer) nn.Layer { return nn.Layer{Kind: nn.Sequential, Layers: layers} }
	one := func(name string, out int) nn.Layer { return nn.Layer{Kind: nn.Conv, Name: name, Out: out, Kernel: 1} }
	pool := nn.Layer{Kind: nn.AvgPool, Kernel: 3, Stride: 1, Pad: 1}
	half := func(at int) nn.Layer { return nn.Layer{Kind: nn.Channels, At: at, Out: 2} }
	mix := nn.Layer{Kind: nn.Shuffle, Groups: 2}
	wide := nn.Layer{Kind: nn.Conv, Name: "w", Out: 3, Kernel: 1, KernelW: 5, PadW: 2}
	tall := nn.Layer{Kind: nn.Conv, Name: "t", Out: 2, Kernel: 3, KernelW: 1, Pad: 1, NoBias: true}
	down := nn.Layer{Kind: nn.Conv, Name: "d", Out: 2, Kernel: 3, KernelW: 2, Pad: 1, Stride: 2, PadEnd: 1}
	return map[string]*nn.Spec{
		"concat of inception": newDenseCase(5, 4, 3, conv3("x", 4), batchNorm("xn"), relu,
			join(of(one("a", 3), batchNorm("an"), relu), of(one("b", 2), relu, conv3("c", 3), batchNorm("cn"), relu),
				of(pool, one("p", 2)))),
		"concat of dense blocks": newDenseCase(4, 4, 2, conv3("x", 3),
			join(of(), of(batchNorm("an"), relu, conv3("a", 2))),
			branch(nn.Concat, "k", of(), of(batchNorm("bn"), relu, conv3("b", 3))), batchNorm("en"), relu),
		"concat of halves, shuffled": newDenseCase(4, 3, 2, conv3("x", 4), batchNorm("xn"), relu,
			join(half(0), of(half(2), one("a", 2), batchNorm("an"), relu)), mix, conv3("y", 3)),
		"concat of the input itself": newDenseCase(3, 3, 2, join(of(), of(), one("a", 2), newLayer(nn.Sigmoid)), relu),
		"concat of activations":      newDenseCase(3, 3, 2, conv3("x", 3), join(relu, newLayer(nn.SiLU), of())),
		"concat of a sum": newDenseCase(3, 3, 2, conv3("x", 3),
			join(branch(nn.Residual, "r", conv3("a", 3)), branch(nn.Multiply, "m", relu)), relu),
		"concat of vectors": newCase(3, 3, 2, join(newLayer(nn.GlobalAvgPool),
			of(conv3("c", 3), newLayer(nn.GlobalAvgPool))),
			dense("b", 2)),
		"concat of dropped branches": newDenseCase(3, 3, 2, conv3("x", 3),
			join(of(newDropPath(0.5)), of(newDropPath(0)))),
		"flatten channel first": newCase(3, 2, 2, conv3("c", 4), relu,
			nn.Layer{Kind: nn.Flatten, ChannelFirst: true}, newLayer(nn.SiLU), dense("b", 3)),
		"ends with flatten": newCase(3, 2, 2, conv3("c", 4), nn.Layer{Kind: nn.Flatten, ChannelFirst: true}),
		"channels and shuffle": newDenseCase(3, 2, 6, mix, nn.Layer{Kind: nn.Shuffle, Groups: 3},
			nn.Layer{Kind: nn.Channels, At: 1, Out: 4}, conv3("c", 2)),
		"kernels that are not square": newDenseCase(5, 6, 2, wide, batchNorm("wn"), relu, tall, relu, down),
	}
}

// imageCases returns paddings at the end only, and pools.
func imageCases() map[string]*nn.Spec {
	same := func(name string, out, kernel, groups int) nn.Layer { // TensorFlow's padding at stride 2
		return nn.Layer{Kind: nn.Conv, Name: name, Out: out, Kernel: kernel, Stride: 2, Pad: kernel/2 - 1, PadEnd: 1,
			Groups: groups, NoBias: true}
	}
	maxEnd := nn.Layer{Kind: nn.MaxPool, Kernel: 3, Stride: 2, PadEnd: 1}
	avgEnd := nn.Layer{Kind: nn.AvgPool, Kernel: 2, PadEnd: 1}
	gem := nn.Layer{Kind: nn.GEMPool, Name: "pool.p", Start: 2, Eps: 1e-6}
	return map[string]*nn.Spec{
		"conv same": newDenseCase(6, 8, 2, same("c", 5, 3, 0), batchNorm("n"), newLayer(nn.ReLU6)),
		"depthwise same": newDenseCase(6, 8, 3, same("a", 3, 3, 0), batchNorm("an"), same("c", 3, 5, -1),
			batchNorm("n")),
		"depthwise wide": newDenseCase(7, 8, 3, nn.Layer{Kind: nn.Conv, Name: "a", Out: 3, Kernel: 7, Pad: 3,
			Groups: -1}),
		"mean of what lies within": newDenseCase(5, 6, 2, conv3("c", 3),
			nn.Layer{Kind: nn.AvgPool, Kernel: 3, Stride: 2, Pad: 1, NoPad: true}, newLayer(nn.ReLU),
			nn.Layer{Kind: nn.AvgPool, Kernel: 3, Stride: 1, PadEnd: 1, NoPad: true}),
		"pools same": newDenseCase(6, 7, 2, conv3("c", 3), maxEnd, avgEnd),
		"halves, ceiling": newDenseCase(7, 5, 2, conv3("c", 3), batchNorm("n"), newLayer(nn.ReLU),
			nn.Layer{Kind: nn.MaxPool, Kernel: 2, PadEnd: 1}),
		"mean from": newCase(3, 4, 2, conv3("c", 3), nn.Layer{Kind: nn.GlobalAvgPool, At: 2}, dense("b", 2)),
		"gem": newCase(3, 4, 2, conv3("c", 3), batchNorm("n"), newNamedLayer(nn.GEMPool, "p"),
			dense("b", 2)),
		"gem of an image": newCase(3, 4, 2, gem, dense("b", 2)),
	}
}
