"""Writes the small graphs that the tests of this package run: every operator occurs in one of them.
run.js computes their outputs with ONNX Runtime and writes them beside (NAME.safetensors).

    python3 gen_graphs.py                             (onnx 1.17)
    NODE_PATH=.../node_modules node run.js            (onnxruntime-node 1.30)

A graph takes the image x, 2 x 4 x 6 x 6, and has an output for each thing that it tries. Outputs called
whole_... hold integers or truths and must be equal.
"""
import numpy as np
from onnx import TensorProto as T, helper as H, numpy_helper as N

r = np.random.default_rng(11)


def f(*shape, k=1.0):
    return (r.standard_normal(shape) * k).astype("f4")


def pos(*shape):
    return (r.random(shape) + 0.5).astype("f4")


def I(*v):
    return np.array(v, "i8")


def one(v, t="i8"):
    return np.array(v, t)


class Graph:
    def __init__(self, name, opset, ir=10, domains=()):
        self.name, self.opset, self.ir, self.domains = name, opset, ir, domains
        self.nodes, self.weights, self.outputs, self.n = [], {}, [], 0

    def const(self, v):
        name = f"c{len(self.weights)}"
        self.weights[name] = np.array(v, order="C")
        return name

    def __call__(self, op, *ins, outs=1, **attrs):
        ins = [x if isinstance(x, str) else self.const(x) for x in ins]
        names = [f"t{self.n + i}" for i in range(outs)]
        self.n += outs
        self.nodes.append(H.make_node(op, ins, names, **attrs))
        return names[0] if outs == 1 else names

    def out(self, *values):
        for v in values:
            name = f"{len(self.outputs)}_{self.nodes[-1].op_type}"
            self.nodes.append(H.make_node("Identity", [v], [name]))
            self.outputs.append(name)

    def whole(self, *values):
        for v in values:
            name = f"whole_{len(self.outputs)}_{self.nodes[-1].op_type}"
            self.nodes.append(H.make_node("Cast", [v], [name], to=T.FLOAT))
            self.outputs.append(name)

    def tries(self, op, *ins, **attrs):
        v = self(op, *ins, **attrs)
        self.out(*([v] if isinstance(v, str) else v))
        return v

    def write(self):
        g = H.make_graph(self.nodes, self.name, [H.make_tensor_value_info("x", T.FLOAT, [2, 4, 6, 6])],
                         [H.make_tensor_value_info(n, T.FLOAT, None) for n in self.outputs],
                         [N.from_array(v, k) for k, v in self.weights.items()])
        sets = [H.make_opsetid("", self.opset)] + [H.make_opsetid(d, 1) for d in self.domains]
        m = H.make_model(g, opset_imports=sets, ir_version=self.ir, producer_name="gen_graphs.py")
        open(self.name + ".onnx", "wb").write(m.SerializeToString())


# one input
g = Graph("one_op20", 20)
x = g("Slice", "x", I(0, 0), I(1, 2), I(0, 1))
p = g("Add", g("Abs", x), one(0.1, "f4"))
unit = g("Tanh", x)
for op in ("Abs Atan Asinh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Mish Neg Relu "
           "Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Tan Tanh ThresholdedRelu Identity").split():
    g.tries(op, x)
for op in "Acos Asin Atanh".split():
    g.tries(op, unit)
for op in "Log Reciprocal Sqrt".split():
    g.tries(op, p)
g.tries("Acosh", g("Add", p, one(1, "f4")))
g.tries("Gelu", x, approximate="tanh")
g.tries("Celu", x, alpha=0.6)
g.tries("Elu", x, alpha=0.6)
g.tries("HardSigmoid", x, alpha=0.3, beta=0.4)
g.tries("LeakyRelu", x, alpha=0.3)
g.tries("Selu", x, alpha=1.4, gamma=1.1)
g.tries("Shrink", x, bias=0.1, lambd=0.3)
g.tries("ThresholdedRelu", x, alpha=0.4)
g.tries("Clip", x, one(-0.3, "f4"), one(0.4, "f4"))
g.tries("Clip", x, "", one(0.4, "f4"))
g.tries("Dropout", x)
i = g("Cast", g("Mul", x, one(9, "f4")), to=T.INT32)
g.whole(i)
for op in "Abs Neg Sign Relu".split():
    g.whole(g(op, i))
for to in (T.UINT8, T.INT8, T.INT64, T.BOOL):
    g.whole(g("Cast", i, to=to))
g.whole(g("CastLike", x, one(1, "i8")))
g.whole(g("Not", g("Cast", i, to=T.BOOL)))
g.whole(g("BitwiseNot", i), g("BitwiseNot", g("Cast", i, to=T.UINT8)))
zero = g("Relu", x)
g.whole(g("IsInf", g("Div", x, zero)), g("IsInf", g("Div", x, zero), detect_negative=0))
g.whole(g("IsNaN", g("Div", zero, zero)))
g.whole(g("Clip", i, one(-3, "i4"), one(5, "i4")))
g.write()

# Swish came late
g = Graph("swish_op24", 24, ir=11)
g.tries("Swish", "x")
g.tries("Swish", "x", alpha=0.7)
g.write()

# two inputs and more
g = Graph("two_op20", 20)
part = g("Slice", "x", I(0, 0), I(6, 6), I(2, 3), I(2, 2))
p = g("Add", g("Abs", part), one(0.1, "f4"))
conv = g("Conv", "x", f(4, 4, 3, 3, k=0.2), pads=[1, 1, 1, 1], strides=[2, 2])  # its channels lie last
others = (one(0.7, "f4"), f(1), f(3), f(3, 1), f(4, 1, 1), f(1, 1, 3, 3), f(2, 1, 3, 1), f(2, 4, 3, 3),
          f(3, 1, 4, 1, 1))
for k, other in enumerate(others):
    g.tries("Add", conv, other)
    g.tries("Sub Mul Div".split()[k % 3], other, p)
for op in "Sub Mul Div".split():
    g.tries(op, p, one(0.7, "f4"))
g.tries("Add", f(3, 1, 1, 1, 3), conv)
g.tries("Sub", g("Transpose", conv, perm=[0, 2, 3, 1]), f(4))
g.tries("Pow", p, one(2, "f4"))
g.tries("Pow", p, one(0.5, "f4"))
g.tries("Pow", p, f(3))
g.tries("Pow", part, one(3, "i8"))
g.tries("Mod", part, one(0.7, "f4"), fmod=1)
g.tries("PRelu", conv, f(4, 1, 1))
g.tries("PRelu", conv, f(1))
for op in "Min Max Sum Mean".split():
    g.tries(op, conv, part, f(4, 1, 1))
    g.tries(op, conv)
i = g("Cast", g("Mul", part, one(9, "f4")), to=T.INT64)
j = g("Cast", g("Add", g("Mul", part, one(5, "f4")), one(0.5, "f4")), to=T.INT64)
for op in "Add Sub Mul Min Max".split():
    g.whole(g(op, i, j))
g.whole(g("Div", i, one(4)), g("Mod", i, one(5)), g("Mod", i, one(-5)), g("Mod", i, one(5), fmod=1))
g.whole(g("Pow", i, one(2)))
u = g("Cast", i, to=T.UINT8)
w = g("Cast", j, to=T.UINT8)
g.whole(g("Add", u, w), g("Mul", u, w), g("Sub", u, w))
for op in "BitwiseAnd BitwiseOr BitwiseXor".split():
    g.whole(g(op, i, j))
    g.whole(g(op, u, w))
g.whole(g("BitShift", u, one(2, "u1"), direction="LEFT"), g("BitShift", u, one(3, "u1"), direction="RIGHT"))
for op in "Equal Less LessOrEqual Greater GreaterOrEqual".split():
    g.whole(g(op, i, j))
    g.whole(g(op, conv, f(4, 1, 1)))
a, b = g("Greater", part, one(0, "f4")), g("Less", conv, one(0.2, "f4"))
for op in "And Or Xor".split():
    g.whole(g(op, a, b))
g.tries("Where", a, conv, f(4, 1, 1))
g.whole(g("Where", b, i, j))
g.write()

# reductions and orders
g = Graph("reduce_op20", 20)
p = g("Add", g("Abs", "x"), one(0.1, "f4"))
conv = g("Conv", p, pos(20, 4, 2, 2), strides=[4, 2])
for op in "Sum Mean Max Min Prod L1 L2 SumSquare LogSum LogSumExp".split():
    op = "Reduce" + op
    g.tries(op, p, I(2, 3))
    g.tries(op, p, I(-3), keepdims=0)
    g.tries(op, p, I(0, 2), keepdims=0)
    g.tries(op, p, keepdims=0)
    g.tries(op, conv, I(2, 3), keepdims=0)
i = g("Cast", g("Mul", "x", one(3, "f4")), to=T.INT64)
for op in "Sum Max Min Prod".split():
    g.whole(g("Reduce" + op, i, I(1)))
g.whole(g("ReduceMean", g("Cast", i, to=T.INT32), I(1)))
g.tries("ReduceSum", p, np.zeros(0, "i8"), noop_with_empty_axes=1)
for op in "ArgMax ArgMin".split():
    g.whole(g(op, "x", axis=1), g(op, conv, axis=-1, keepdims=0), g(op, i, axis=2, select_last_index=1))
g.tries("CumSum", "x", one(1))
g.tries("CumSum", conv, one(-1), exclusive=1, reverse=1)
g.whole(g("CumSum", i, one(2), exclusive=1))
for axis, largest in ((1, 1), (-1, 0)):
    v, n = g("TopK", "x", I(2), axis=axis, largest=largest, outs=2)
    g.out(v)
    g.whole(n)
for op in "Softmax LogSoftmax Hardmax".split():
    g.tries(op, "x")
    g.tries(op, conv, axis=1)
    g.tries(op, g("Mul", "x", one(100, "f4")), axis=-2)
g.write()

# shapes and moves
g = Graph("move_op20", 20)
part = g("Slice", "x", I(0), I(4), I(2))
conv = g("Conv", part, f(4, 4, 3, 3, k=0.3), f(4), pads=[1, 1, 1, 1])
g.tries("Reshape", conv, I(0, -1, 3, 2))
g.tries("Flatten", conv)
g.tries("Flatten", conv, axis=-1)
g.tries("Flatten", conv, axis=0)
g.tries("Transpose", conv)
g.tries("Transpose", conv, perm=[2, 0, 3, 1])
g.tries("Transpose", conv, perm=[0, 2, 3, 1])
g.tries("Slice", conv, I(5, -1), I(0, -9), I(2, 3), I(-2, -3))
g.tries("Slice", conv, I(1, 0), I(2**31, 3), I(1, -1))
g.tries("Gather", conv, I(3, -1, 0), axis=2)
g.tries("Gather", conv, one(1), axis=1)
g.tries("Gather", conv, np.array([[1, 0], [2, -2]], "i8"), axis=-1)
g.tries("Pad", conv, I(1, -1, 2, 1), one(0.3, "f4"), I(2, 3))
for mode in ("reflect", "edge", "wrap"):
    g.tries("Pad", conv, I(0, 0, 1, 2, 0, 0, 3, 1), mode=mode)
g.out(*g("Split", conv, I(1, 2, 1), axis=1, outs=3))
g.out(*g("Split", conv, axis=-1, num_outputs=3, outs=3))
g.tries("Tile", conv, I(1, 2, 1, 2))
g.tries("Concat", conv, conv, part, axis=1)
g.tries("Concat", conv, conv, axis=-1)
for mode in ("DCR", "CRD"):
    g.tries("DepthToSpace", conv, blocksize=2, mode=mode)
g.tries("SpaceToDepth", conv, blocksize=2)
g.tries("Trilu", conv, one(1))
g.tries("Trilu", conv, one(-1), upper=0)
g.tries("Compress", conv, np.array([1, 0, 1, 1], bool), axis=2)
g.tries("Compress", conv, np.array([1, 0, 1, 1], bool))
g.tries("CenterCropPad", conv, I(3, 9), axes=[2, 3])
g.tries("GatherElements", conv, r.integers(-4, 4, (2, 4, 2, 6)).astype("i8"), axis=2)
g.tries("GatherND", conv, np.array([[[0, 1], [0, 3]], [[1, 3], [1, -1]]], "i8"))
g.tries("GatherND", conv, np.array([[[1, 2]], [[3, 0]]], "i8"), batch_dims=1)
g.whole(g("Shape", conv), g("Shape", conv, start=-3, end=-1), g("Size", conv))
row = g("ReduceMean", "x", I(2), keepdims=1)
g.tries("Expand", row, I(2, 4, 3, 6))
g.tries("Expand", row, I(3, 1, 1, 2, 1))
flat = g("Reshape", "x", I(8, 36))
g.tries("Unsqueeze", flat, I(-1, 0))
g.tries("Squeeze", g("Unsqueeze", flat, I(0, 3)), I(0, -1))
g.tries("Squeeze", g("Unsqueeze", flat, I(0, 3)))
g.out(*g("Split", flat, axis=0, num_outputs=3, outs=3))
for how in ("none", "add", "mul", "max", "min"):
    index = np.arange(6)[None, None, None, ::-1].repeat(4, 1) if how == "none" else r.integers(0, 4, (1, 4, 2, 6))
    shape = index.shape
    g.tries("ScatterElements", conv, index.astype("i8"), f(*shape), axis=3 if how == "none" else 2, reduction=how)
    rows = np.array([[0, 2], [1, 1]] if how == "none" else [[0, 2], [0, 1], [0, 2]], "i8")
    g.tries("ScatterND", "x", rows, f(len(rows), 6, 6), reduction=how)
g.tries("ReverseSequence", flat, r.integers(1, 9, 36).astype("i8"), time_axis=0, batch_axis=1)
g.tries("ReverseSequence", flat, r.integers(1, 37, 8).astype("i8"), time_axis=1, batch_axis=0)
g.tries("OneHot", g("ArgMax", "x", axis=1, keepdims=0), one(5), np.array([-0.5, 2], "f4"), axis=1)
g.tries("OneHot", I(1, -2, 7), one(4), np.array([0, 1], "f4"))
g.tries("EyeLike", flat, k=2)
g.whole(g("EyeLike", flat, k=-1, dtype=T.INT64))
g.whole(g("NonZero", g("Relu", "x")))
g.whole(g("Range", one(2), one(20), one(3)), g("Range", one(5), one(-4), one(-2)))
g.tries("Range", one(0.5, "f4"), one(2, "f4"), one(0.25, "f4"))
g.out(g("ConstantOfShape", I(2, 3), value=N.from_array(np.array([1.5], "f4"))))
g.whole(g("ConstantOfShape", g("Shape", flat), value=N.from_array(np.array([7], "i8"))))
g.out(g("Constant", value=N.from_array(f(2, 2))))
g.out(g("Constant", value_floats=[1.5, 2.5]))
g.whole(g("Constant", value_int=3), g("Constant", value_ints=[3, -4]))
g.tries("Einsum", part, conv, equation="bchw,bdhw->bcd")
g.tries("Einsum", "x", equation="bchw->bwc")
g.tries("Einsum", "x", equation="bcii->bci")
g.tries("Einsum", "x", f(6, 5), equation="...w,wk->...k")
g.tries("Einsum", "x", "x", f(4), equation="bchw,bchv,c->bwv")
g.tries("Einsum", flat, flat, equation="ij,kj")
g.tries("Col2Im", g("Reshape", "x", I(2, 4, 36)), I(7, 7), I(2, 2))
g.tries("Col2Im", g("Reshape", "x", I(2, 4, 36)), I(11, 11), I(2, 2), strides=[2, 2], pads=[0, 0, 1, 1])
g.write()

# windows
g = Graph("window_op21", 21)
part = g("Slice", "x", I(0, 0), I(6, 6), I(2, 3), I(2, 2))
w, pairs = g.const(f(5, 4, 3, 3, k=0.2)), g.const(f(4, 2, 3, 3, k=0.2))
for attrs in ({}, {"pads": [1, 0, 2, 1]}, {"strides": [2, 1]}, {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
              {"auto_pad": "SAME_LOWER", "strides": [2, 2]}, {"auto_pad": "VALID"}, {"dilations": [2, 1]}):
    g.tries("Conv", "x", w, f(5), **attrs)
    g.tries("Conv", "x", pairs, group=2, **attrs)
g.tries("Conv", "x", f(4, 1, 3, 3, k=0.3), group=4, pads=[1, 1, 1, 1])
g.tries("Conv", g("Reshape", "x", I(2, 4, 36)), f(5, 4, 3), f(5), strides=[2])
g.tries("Conv", g("Reshape", "x", I(2, 2, 2, 6, 6)), f(3, 2, 2, 3, 3, k=0.3), pads=[1, 0, 0, 0, 1, 1])
g.tries("Conv", "x", g("Reshape", g("Slice", "x", I(0), I(1)), I(1, 4, 6, 6)))  # filters that are computed
back = g.const(f(4, 2, 3, 3, k=0.2))
for attrs in ({}, {"pads": [1, 0, 2, 1]}, {"strides": [2, 3]}, {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
              {"output_padding": [1, 0], "strides": [2, 2]}, {"dilations": [2, 1]}):
    g.tries("ConvTranspose", part, back, f(2), **attrs)
g.tries("ConvTranspose", part, back, strides=[2, 2], output_shape=[5, 6], group=2)
g.tries("ConvTranspose", g("Reshape", "x", I(2, 4, 36)), f(4, 2, 3), strides=[2])
for op in "MaxPool AveragePool LpPool".split():
    for attrs in ({"strides": [2, 2]}, {"strides": [2, 1], "pads": [1, 0, 1, 1]}, {"strides": [2, 2], "ceil_mode": 1},
                  {"dilations": [2, 1]}, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}):
        g.tries(op, "x", kernel_shape=[3, 2], **attrs)
    g.tries(op, g("Reshape", "x", I(2, 4, 36)), kernel_shape=[3], strides=[2])
g.tries("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
g.tries("LpPool", "x", kernel_shape=[2, 2], p=3)
v, n = g("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2], outs=2)
g.out(v)
g.whole(n)
for op in "GlobalAveragePool GlobalMaxPool GlobalLpPool".split():
    g.tries(op, "x")
    g.tries(op, g("Conv", "x", w))
g.tries("GlobalLpPool", "x", p=3)
maps = np.array([[[0.9, 0.2, 0.1], [-0.3, 1.1, 0.2]], [[1, 0, -0.4], [0.1, 0.8, 0]]], "f4")
grid = g("AffineGrid", maps, I(2, 4, 3, 2))
g.out(grid)
g.tries("AffineGrid", f(2, 2, 3), I(2, 4, 3, 4), align_corners=1)
for mode in ("linear", "nearest", "cubic"):
    for padding in ("zeros", "border", "reflection"):
        for corners in (0, 1):
            g.tries("GridSample", "x", grid, mode=mode, padding_mode=padding, align_corners=corners)
g.write()

# norms
g = Graph("norm_op21", 21)
conv = g("Conv", "x", f(8, 4, 2, 2, k=0.3), f(8), strides=[2, 2])
for v, n in (("x", 4), (conv, 8), (g("Flatten", "x"), 144)):
    g.tries("BatchNormalization", v, pos(n), f(n), f(n), pos(n), epsilon=1e-3)
for v, n in (("x", 4), (conv, 8)):
    g.tries("InstanceNormalization", v, pos(n), f(n))
    g.tries("GroupNormalization", v, pos(n), f(n), num_groups=2)
    g.tries("LRN", v, size=3, alpha=0.2, beta=0.6, bias=1.1)
    g.tries("MeanVarianceNormalization", v)
    g.tries("MeanVarianceNormalization", v, axes=[1, 2])
    for axis in (1, -1):
        g.tries("LpNormalization", v, axis=axis)
        g.tries("LpNormalization", v, axis=axis, p=1)
g.tries("LayerNormalization", "x", pos(6), f(6))
g.tries("LayerNormalization", "x", pos(6, 6), axis=2, epsilon=1e-2)
g.out(*g("LayerNormalization", "x", pos(4, 6, 6), f(4, 6, 6), axis=-3, outs=3))
g.write()
g = Graph("norm_op18", 18)
g.tries("GroupNormalization", "x", pos(2), f(2), num_groups=2)
g.write()

# products
g = Graph("product_op20", 20)
flat = g("Reshape", "x", I(8, 36))
for a, b in (("x", f(6, 5)), ("x", f(4, 6, 3)), (f(5, 6), "x"), (f(6), "x"), ("x", f(6)), (flat, f(36, 3)), ("x", "x"),
             (f(3, 1, 1, 2, 6), "x")):
    g.tries("MatMul", a, b)
g.tries("Gemm", flat, f(36, 5))
g.tries("Gemm", flat, f(5, 36), f(5), transB=1, alpha=0.7, beta=1.3)
g.tries("Gemm", flat, f(8, 3), f(36, 1), transA=1)
g.tries("Gemm", flat, f(3, 36), f(1, 3), transB=1)
g.tries("Gemm", flat, flat, one(0.5, "f4"), transB=1)
g.whole(g("MatMul", g("Cast", g("Mul", "x", one(9, "f4")), to=T.INT32), r.integers(-9, 9, (6, 3)).astype("i4")))
g.write()

# attention and what belongs to it
g = Graph("attention_op23", 23, ir=11)
t = g("Transpose", g("Reshape", "x", I(2, 12, 12)), perm=[0, 2, 1])
q, k, v = (g("MatMul", t, f(12, 12, k=0.3)) for _ in range(3))
kk, vv = (g("MatMul", t, f(12, 6, k=0.3)) for _ in range(2))
g.tries("Attention", q, k, v, q_num_heads=2, kv_num_heads=2)
g.tries("Attention", q, k, v, q_num_heads=2, kv_num_heads=2, is_causal=1)
g.tries("Attention", q, kk, vv, q_num_heads=2, kv_num_heads=1, scale=0.2)
g.tries("Attention", q, k, v, f(12, 12), q_num_heads=2, kv_num_heads=2, softcap=1.5)
g.tries("Attention", q, k, v, np.tril(np.ones((12, 12), bool), 2), q_num_heads=2, kv_num_heads=2)
q4, k4, v4 = (g("Transpose", g("Reshape", z, I(2, 12, 3, 4)), perm=[0, 2, 1, 3]) for z in (q, k, v))
g.tries("Attention", q4, k4, v4, f(2, 3, 12, 12))
angle = np.outer(np.arange(12), [1, 0.3]).astype("f4")
cos, sin = np.cos(angle), np.sin(angle)
ids = r.integers(0, 12, (2, 12)).astype("i8")
g.tries("RotaryEmbedding", q, cos, sin, ids, num_heads=3)
g.tries("RotaryEmbedding", q4, cos[None].repeat(2, 0), sin[None].repeat(2, 0), interleaved=1)
g.tries("RotaryEmbedding", q4, cos[:, :1], sin[:, :1], ids, rotary_embedding_dim=2)
g.tries("RMSNormalization", q, pos(12), epsilon=1e-6)
g.tries("RMSNormalization", q4, pos(12, 4), axis=2)
g.write()

# sizes
for opset in (10, 11, 19):
    g = Graph(f"resize_op{opset}", opset, ir=5 if opset == 10 else 6 if opset == 11 else 9)
    S, Z = np.array([1, 1, 1.7, 0.6], "f4"), I(1, 2, 9, 4)
    if opset == 10:
        g.tries("Resize", "x", np.array([1, 1, 2, 0.5], "f4"), mode="nearest")
        g.tries("Resize", "x", np.array([1, 1, 2, 1.5], "f4"), mode="linear")
        g.write()
        continue
    x = g("Slice", "x", I(0, 0), I(1, 2), I(0, 1))
    roi = np.array([0, 0, 0.1, -0.2, 1, 1, 0.8, 1.1], "f4")
    none = np.zeros(0, "f4") if opset == 11 else ""
    for ct in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        for mode in ("nearest", "linear", "cubic"):
            g.tries("Resize", x, none, S, mode=mode, coordinate_transformation_mode=ct)
            g.tries("Resize", x, none, none, Z, mode=mode, coordinate_transformation_mode=ct)
    g.tries("Resize", x, roi, S, mode="linear", coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=0.3)
    for nm in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        g.tries("Resize", x, none, S, nearest_mode=nm)
        g.tries("Resize", x, none, none, Z, nearest_mode=nm, coordinate_transformation_mode="asymmetric")
    g.tries("Resize", x, none, S, mode="cubic", cubic_coeff_a=-0.5)
    g.tries("Resize", x, none, S, mode="cubic", exclude_outside=1)
    if opset == 19:
        g.tries("Resize", x, "", "", I(9, 4), mode="linear", axes=[2, 3])
        for policy in ("not_larger", "not_smaller"):
            g.tries("Resize", x, "", "", I(9, 4), mode="linear", axes=[2, 3], keep_aspect_ratio_policy=policy)
        for mode in ("linear", "cubic"):
            g.tries("Resize", x, "", "", I(1, 2, 3, 4), mode=mode, antialias=1)
    g.write()

# what older opsets wrote otherwise
g = Graph("old_op9", 9, ir=4)
x = g("Slice", "x", starts=[1, 3], ends=[2, 6], axes=[0, 2])
g.tries("Upsample", x, np.array([1, 1, 2, 3], "f4"), mode="nearest")
g.tries("Upsample", x, np.array([1, 1, 2, 2], "f4"), mode="linear")
g.tries("Scatter", x, np.arange(6)[None, None, None, ::-1].repeat(4, 1).copy().astype("i8"), f(1, 4, 1, 6), axis=3)
g.tries("Slice", x, starts=[1, -3], ends=[3, 2**31], axes=[1, 3])
g.tries("Pad", x, pads=[0, 0, 1, 2, 0, 0, 0, 1], value=0.5)
g.tries("Clip", x, min=-0.2, max=0.5)
g.tries("Dropout", x, ratio=0.5)
g.tries("Softmax", x, axis=2)
g.tries("LogSoftmax", x)
g.tries("Hardmax", x, axis=1)
g.tries("ReduceSum", x, axes=[1, -1], keepdims=0)
g.tries("Squeeze", g("Unsqueeze", x, axes=[0, 3]), axes=[0])
g.out(*g("Split", x, split=[1, 3], axis=1, outs=2))
g.write()

# integers that stand for numbers
g = Graph("quantized_op21", 21)
u8 = g("QuantizeLinear", "x", one(0.03, "f4"), one(120, "u1"))
i8 = g("QuantizeLinear", "x", one(0.04, "f4"), one(-3, "i1"))
g.whole(u8, i8, g("QuantizeLinear", "x", one(0.02, "f4")))
g.whole(g("QuantizeLinear", "x", pos(4) * 0.05, np.array([1, 2, 3, 100], "u1"), axis=1))
g.tries("DequantizeLinear", u8, one(0.03, "f4"), one(120, "u1"))
g.tries("DequantizeLinear", i8, pos(6) * 0.05, np.arange(6).astype("i1"), axis=-1)
y, s, z = g("DynamicQuantizeLinear", "x", outs=3)
g.out(s)
g.whole(y, z)
wq = r.integers(0, 255, (6, 3)).astype("u1")
g.whole(g("MatMulInteger", u8, wq, one(120, "u1"), one(99, "u1")), g("MatMulInteger", u8, wq))
fq = r.integers(0, 255, (3, 4, 3, 3)).astype("u1")
g.whole(g("ConvInteger", u8, fq, one(120, "u1"), one(128, "u1"), pads=[1, 1, 1, 1]), g("ConvInteger", u8, fq))
fs = r.integers(-127, 127, (5, 4, 3, 3)).astype("i1")
g.whole(g("QLinearConv", u8, one(0.03, "f4"), one(120, "u1"), fs, pos(5) * 0.01, np.zeros(5, "i1"), one(0.05, "f4"),
          one(110, "u1"), r.integers(-999, 999, 5).astype("i4"), strides=[2, 2]))
g.whole(g("QLinearMatMul", u8, one(0.03, "f4"), one(120, "u1"), wq, one(0.01, "f4"), one(99, "u1"), one(0.06, "f4"),
          one(128, "u1")))
g.write()

# control flow and sequences
g = Graph("control_op17", 17, ir=8)
x = g("Slice", "x", I(1, 0), I(2, 2), I(0, 2))


def sub(name, nodes, ins, outs):
    info = lambda n: H.make_tensor_value_info(n, *{"go": (T.BOOL, []), "it": (T.INT64, [])}.get(n[:2], (T.FLOAT, None)))
    return H.make_graph(nodes, name, [info(n) for n in ins], [info(n) for n in outs])


half, nine = g.const(one(0.5, "f4")), g.const(one(0.9, "f4"))
mean = g("ReduceMean", x, keepdims=0)
for bound in (50, -50):  # a condition that the values decide
    cond = g("Greater", mean, one(bound, "f4"))
    g.tries("If", cond, then_branch=sub("then", [H.make_node("Neg", [x], ["a"])], [], ["a"]),
            else_branch=sub("else", [H.make_node("Mul", [x, half], ["b"])], [], ["b"]))
known = g("Equal", g("Gather", g("Shape", x), one(0)), one(1))
g.tries("If", known, then_branch=sub("then", [H.make_node("Neg", [x], ["a"])], [], ["a"]),
        else_branch=sub("else", [H.make_node("Mul", [x, half], ["b"])], [], ["b"]))
inner = sub("then", [H.make_node("Mul", ["m", half], ["a"])], [], ["a"])
other = sub("else", [H.make_node("Add", ["m", x], ["b"])], [], ["b"])
body = sub("body", [H.make_node("Mul", ["acc", nine], ["m"]), H.make_node("ReduceMean", ["m"], ["n"], keepdims=0),
                    H.make_node("Greater", ["n", half], ["big"]),
                    H.make_node("If", ["big"], ["acc2"], then_branch=inner, else_branch=other),
                    H.make_node("Cast", ["it"], ["f"], to=T.FLOAT), H.make_node("Add", ["f", "n"], ["scan"]),
                    H.make_node("Identity", ["go"], ["go2"])], ["it", "go", "acc"], ["go2", "acc2", "scan"])
for rounds in (4, 1, 0):
    last, scans = g("Loop", one(rounds), np.array(True), x, body=body, outs=2)
    g.out(last)
    if rounds:
        g.out(scans)
stop = sub("body", [H.make_node("Mul", ["acc", half], ["acc2"]), H.make_node("Abs", ["acc2"], ["abs"]),
                    H.make_node("ReduceMax", ["abs"], ["most"], keepdims=0),
                    H.make_node("Greater", ["most", half], ["go2"])],
           ["it", "go", "acc"], ["go2", "acc2"])
g.tries("Loop", "", np.array(True), x, body=stop)
seq = g("SequenceConstruct", x, g("Neg", x))
seq = g("SequenceInsert", seq, g("Abs", x), one(-1))
g.tries("SequenceAt", seq, one(1))
g.tries("ConcatFromSequence", seq, axis=1)
g.tries("ConcatFromSequence", seq, axis=-1, new_axis=1)
g.whole(g("SequenceLength", seq))
g.tries("ConcatFromSequence", g("SequenceErase", seq, one(0)), axis=0)
g.tries("SequenceAt", g("SequenceErase", seq), one(-1))
g.tries("SequenceAt", g("SequenceInsert", g("SequenceEmpty"), x), one(0))
for attrs, parts in (({}, None), ({"keepdims": 0}, None), ({}, one(4)), ({}, I(1, 2, 3))):
    s = g("SplitToSequence", x, *([] if parts is None else [parts]), axis=3, **attrs)
    g.whole(g("SequenceLength", s))
    g.tries("SequenceAt", s, one(-1))
g.write()

# what ONNX Runtime's optimizer writes
g = Graph("microsoft_op17", 17, ir=8, domains=("com.microsoft",))
ms = {"domain": "com.microsoft"}
g.tries("Gelu", "x", **ms)
g.tries("QuickGelu", "x", **ms)
g.tries("QuickGelu", "x", alpha=1.0, **ms)
g.tries("FastGelu", "x", **ms)
g.tries("FastGelu", "x", f(6), **ms)
g.tries("BiasGelu", "x", f(6), **ms)
g.tries("FusedMatMul", "x", f(6, 5), alpha=0.6, **ms)
g.tries("FusedMatMul", "x", f(5, 6), transB=1, **ms)
g.tries("FusedMatMul", "x", f(6, 5), transA=1, **ms)
flat = g("Reshape", "x", I(8, 36))
for act in ("Relu", "LeakyRelu", "Sigmoid", "Tanh"):
    g.tries("FusedConv", "x", f(2, 4, 3, 3, k=0.2), f(2), activation=act, pads=[1, 1, 1, 1],
            **({"activation_params": [0.2]} if act == "LeakyRelu" else {}), **ms)
g.tries("FusedConv", "x", f(2, 4, 3, 3, k=0.2), f(2), f(2, 2, 4, 4), activation="Relu", **ms)
g.tries("FusedConv", "x", f(2, 4, 3, 3, k=0.2), activation="Clip", activation_params=[-0.1, 0.2], **ms)
g.tries("FusedConv", "x", f(2, 4, 3, 3, k=0.2), activation="HardSigmoid", activation_params=[0.3, 0.4], **ms)
g.tries("FusedGemm", flat, f(5, 36), f(5), transB=1, activation="LeakyRelu", activation_alpha=0.2, **ms)
g.tries("FusedGemm", flat, f(36, 5), f(5), activation="Relu", alpha=0.5, **ms)
g.tries("FusedGemm", flat, f(36, 5), f(5), activation="Elu", alpha=0.5, activation_alpha=0.6, **ms)
t = g("Slice", g("Reshape", "x", I(2, 24, 6)), I(3), I(10), I(1))
for op in ("LayerNormalization", "SimplifiedLayerNormalization"):
    g.tries(op, t, pos(6), *([f(6)] if op[0] == "L" else []), axis=-1, **({} if op[0] == "L" else {}))
a, _, _, s = g("SkipLayerNormalization", t, f(2, 7, 6), pos(6), f(6), f(6), outs=4, **ms)
g.out(a, s)
g.tries("SkipLayerNormalization", t, f(2, 7, 6), pos(6), epsilon=1e-3, **ms)
a, _, _, s = g("SkipSimplifiedLayerNormalization", t, f(2, 7, 6), pos(6), f(6), outs=4, **ms)
g.out(a, s)
g.write()
