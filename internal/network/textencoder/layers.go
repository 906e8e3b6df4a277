package textencoder

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/torchfile"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// Limits of a tower.
const (
	maxDepth  = 512
	maxLength = 4096
)

// layers is the encoder of a network of package nn: it looks up the tokens' rows and runs the network on them. The
// network has an embedding at each position.
type layers struct {
	table  []float32
	width  int
	length int
	dim    int
	net    *nn.Net
}

func (l *layers) encode(ids [][]int32, at []int) (*matrix.Dense, error) {
	need := budget.Product(4, int64(len(ids)), int64(l.length), int64(l.width))
	if err := budget.Check("the texts", need); err != nil {
		return nil, err
	}
	x := make([]float32, 0, len(ids)*l.length*l.width)
	for _, list := range ids {
		for _, id := range list {
			x = append(x, l.table[int(id)*l.width:(int(id)+1)*l.width]...)
		}
	}
	all := l.net.Infer(x, len(ids))
	out := matrix.New(len(ids), l.dim)
	for i := range ids {
		copy(out.Row(i), all.Row(i)[at[i]*l.dim:(at[i]+1)*l.dim])
	}
	return out, nil
}

// tensorNames has the names of the tensors of a tower; those of layers lack ".weight" and ".bias".
type tensorNames struct {
	tokens, positions, norm, head string
	block                         string // with %d
	norm1, norm2, fc1, fc2, out   string
	qkv                           [3]string // "" but for the first: one layer for all
	transposed                    bool      // head is a tensor, in x out
}

func huggingFaceNames(head string) tensorNames {
	return tensorNames{tokens: "text_model.embeddings.token_embedding.weight",
		positions: "text_model.embeddings.position_embedding.weight", norm: "text_model.final_layer_norm", head: head,
		block: "text_model.encoder.layers.%d.", norm1: "layer_norm1", norm2: "layer_norm2", fc1: "mlp.fc1",
		fc2: "mlp.fc2", out: "self_attn.out_proj",
		qkv: [3]string{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}}
}

// openCLIPNames has the names of OpenAI's and OpenCLIP's towers.
func openCLIPNames(prefix string) tensorNames {
	return tensorNames{tokens: prefix + "token_embedding.weight", positions: prefix + "positional_embedding",
		norm: prefix + "ln_final", head: prefix + "text_projection", block: prefix + "transformer.resblocks.%d.",
		norm1: "ln_1", norm2: "ln_2", fc1: "mlp.c_fc", fc2: "mlp.c_proj", out: "attn.out_proj",
		qkv: [3]string{"attn.in_proj_"}, transposed: true}
}

// findTensorNames returns the names that a file has.
func findTensorNames(f *safetensors.File) (tensorNames, error) {
	for _, n := range []tensorNames{huggingFaceNames("text_projection"), huggingFaceNames("text_model.head"),
		openCLIPNames(""), openCLIPNames("text.")} {
		head := n.head
		if !n.transposed {
			head += ".weight"
		}
		if f.Tensor(n.tokens) != nil && f.Tensor(head) != nil {
			return n, nil
		}
	}
	return tensorNames{}, fmt.Errorf("there is no text tower with a projection: neither " +
		"text_model.embeddings.token_embedding.weight with text_projection.weight or text_model.head.weight " +
		"nor token_embedding.weight with text_projection")
}

// readWeights reads the configuration and the weights of the folder.
func (t *Tower) readWeights() error {
	config, path, err := findFiles(t.dir)
	if err != nil {
		return err
	}
	text, err := fileinfo.ReadAtMost(config, "a configuration", maxConfig)
	if err != nil {
		return err
	}
	if t.shape, err = parseConfig(text); err != nil {
		return fmt.Errorf("%s: %w", config, err)
	}
	if filepath.Ext(path) == ".onnx" {
		if err := t.readONNX(path); err != nil {
			return err
		}
		return t.shape.choosePadID(t.dir, t.tokens)
	}
	f, err := torchfile.ReadWeights(path)
	if err != nil {
		return err
	}
	if t.encoder, err = buildLayers(f, &t.shape); err == nil {
		t.image, err = imageWeights(f)
	}
	if err == nil {
		t.logit, err = readLogit(f, t.shape.siglip)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return t.shape.choosePadID(t.dir, t.tokens)
}

// imageNames has the names of tensors of image towers, by the names of package nn/zoo.
var imageNames = map[string][]string{
	"patch_embed.proj.weight": {"vision_model.embeddings.patch_embedding.weight", "visual.conv1.weight"},
	"norm.weight":             {"vision_model.post_layernorm.weight", "visual.ln_post.weight"},
	"norm.bias":               {"vision_model.post_layernorm.bias", "visual.ln_post.bias"},
}

// imageWeights returns the tensors of imageNames that the file has.
func imageWeights(f *safetensors.File) (map[string][]float32, error) {
	found := map[string][]float32{}
	for ours, theirs := range imageNames {
		for _, name := range theirs {
			if t := f.Tensor(name); t != nil {
				v, err := t.FiniteFloat32s()
				if err != nil {
					return nil, err
				}
				found[ours] = v
			}
		}
	}
	return found, nil
}

// tensorReader reads tensors, and remembers the first error.
type tensorReader struct {
	file *safetensors.File
	err  error
}

// tensor returns the values of a tensor with two or, if cols is 0, one dimension. -1 stands for any number of rows.
func (r *tensorReader) tensor(name string, rows, cols int) []float32 {
	if r.err != nil {
		return nil
	}
	t := r.file.Tensor(name)
	if t == nil {
		r.err = fmt.Errorf("the tensor %s is missing", name)
		return nil
	}
	want := []int{rows, cols}
	if cols == 0 {
		want = want[:1]
	}
	same := len(want) == len(t.Shape)
	for i := range want {
		same = same && (want[i] < 0 && t.Shape[i] > 0 || want[i] == t.Shape[i])
	}
	if !same {
		r.err = fmt.Errorf("the tensor %s has the shape %v, not %v", name, t.Shape, want)
		return nil
	}
	var v []float32
	if v, r.err = t.FiniteFloat32s(); r.err != nil {
		r.err = fmt.Errorf("the tensor %s: %w", name, r.err)
	}
	return v
}

// buildLayers makes the network that the tensors and the configuration describe.
func buildLayers(f *safetensors.File, s *towerShape) (*layers, error) {
	n, err := findTensorNames(f)
	if err != nil {
		return nil, err
	}
	r := &tensorReader{file: f}
	table := r.file.Tensor(n.tokens)
	if len(table.Shape) != 2 || table.Shape[0] < 1 || table.Shape[1] < 1 || table.Shape[0] > 1<<30 {
		return nil, fmt.Errorf("the tensor %s has the shape %v, not tokens x channels", n.tokens, table.Shape)
	}
	l := &layers{width: table.Shape[1]}
	s.vocab = int32(table.Shape[0])
	l.table = r.tensor(n.tokens, -1, l.width)
	positions := r.tensor(n.positions, -1, l.width)
	state := map[string][]float32{"positions": positions}
	l.length = len(positions) / l.width
	depth := 0
	for f.Tensor(fmt.Sprintf(n.block, depth)+n.norm1+".weight") != nil {
		depth++
	}
	inner := n.read(r, state, depth, l.width)
	l.dim = n.readHead(r, state, l.width)
	if r.err != nil {
		return nil, r.err
	}
	if depth < 1 || depth > maxDepth || l.length > maxLength {
		return nil, fmt.Errorf("%d blocks and %d positions: must be 1 to %d and at most %d", depth, l.length, maxDepth,
			maxLength)
	}
	if err := s.published.Check(published.Shape{"width": l.width, "depth": depth, "hidden": inner,
		"vocab": int(s.vocab)}); err != nil {
		return nil, err
	}
	if s.heads, _, err = s.published.HeadsForWidth(l.width); err != nil {
		return nil, err
	}
	s.heads = cmp.Or(s.heads, max(1, l.width/64))
	s.length, s.dim = l.length, l.dim
	spec := l.spec(s, depth, inner, state["head.bias"] != nil)
	if l.net, err = nn.New(spec, nn.Options{Freeze: topLayers(spec)}); err != nil {
		return nil, err
	}
	var file safetensors.File
	for _, p := range l.net.Params() {
		file.Tensors = append(file.Tensors, safetensors.Float32(p.Name, p.Shape, state[p.Name]))
	}
	if err := l.net.SetState(&file); err != nil {
		return nil, err
	}
	l.net.SetConstant(true)
	return l, nil
}

// topLayers returns the names of a network's layers with parameters.
func topLayers(spec *nn.Spec) (all []string) {
	for i := range spec.Layers {
		if name := spec.Layers[i].Name; name != "" {
			all = append(all, name)
		}
	}
	return slices.Compact(all)
}

// read reads the blocks, and returns the width of the perceptrons.
func (n *tensorNames) read(r *tensorReader, state map[string][]float32, depth, width int) (inner int) {
	both := func(to, from string, rows, cols int) int {
		state[to+".weight"] = r.tensor(from+".weight", rows, cols)
		size := rows
		if cols > 0 {
			size = len(state[to+".weight"]) / cols
		}
		state[to+".bias"] = r.tensor(from+".bias", size, 0)
		return size
	}
	for i := range depth {
		from, to := fmt.Sprintf(n.block, i), "blocks."+strconv.Itoa(i)+"."
		both(to+"norm1", from+n.norm1, width, 0)
		both(to+"norm2", from+n.norm2, width, 0)
		if fused := n.qkv[0]; strings.HasSuffix(fused, "_") {
			state[to+"qkv.weight"] = r.tensor(from+fused+"weight", 3*width, width)
			state[to+"qkv.bias"] = r.tensor(from+fused+"bias", 3*width, 0)
		} else {
			for _, part := range n.qkv {
				state[to+"qkv.weight"] = append(state[to+"qkv.weight"], r.tensor(from+part+".weight", width, width)...)
				state[to+"qkv.bias"] = append(state[to+"qkv.bias"], r.tensor(from+part+".bias", width, 0)...)
			}
		}
		both(to+"out", from+n.out, width, width)
		inner = both(to+"fc1", from+n.fc1, -1, width)
		both(to+"fc2", from+n.fc2, width, inner)
	}
	both("norm", n.norm, width, 0)
	return inner
}

// readHead reads the projection, and returns the length of the embeddings.
func (n *tensorNames) readHead(r *tensorReader, state map[string][]float32, width int) int {
	if !n.transposed {
		v := r.tensor(n.head+".weight", -1, width)
		state["head.weight"] = v
		if r.file.Tensor(n.head+".bias") != nil {
			state["head.bias"] = r.tensor(n.head+".bias", len(v)/width, 0)
		}
		return len(v) / width
	}
	t := r.file.Tensor(n.head)
	if len(t.Shape) != 2 || t.Shape[1] < 1 {
		r.err = fmt.Errorf("the tensor %s has the shape %v, not channels x channels", n.head, t.Shape)
		return 0
	}
	dim := t.Shape[1]
	v := r.tensor(n.head, width, dim)
	if r.err != nil {
		return 0
	}
	turned := make([]float32, len(v))
	for i := range width {
		for k := range dim {
			turned[k*width+i] = v[i*dim+k]
		}
	}
	state["head.weight"] = turned
	return dim
}

// spec describes the network for the rows of the tokens of a text.
func (l *layers) spec(s *towerShape, depth, inner int, bias bool) *nn.Spec {
	norm := func(name string) nn.Layer { return nn.Layer{Kind: nn.LayerNorm, Name: name, Eps: s.eps} }
	linear := func(name string, out int) nn.Layer { return nn.Layer{Kind: nn.Linear, Name: name, Out: out} }
	all := []nn.Layer{{Kind: nn.Positions, Name: "positions"}}
	for i := range depth {
		residual := func(layers ...nn.Layer) nn.Layer {
			return nn.Layer{Kind: nn.Residual, Name: "blocks." + strconv.Itoa(i), Layers: layers}
		}
		all = append(all, residual(norm("norm1"), linear("qkv", 3*l.width),
			nn.Layer{Kind: nn.Attention, Heads: s.heads, Causal: !s.siglip}, linear("out", l.width)),
			residual(norm("norm2"), linear("fc1", inner), nn.Layer{Kind: s.act}, linear("fc2", l.width)))
	}
	head := linear("head", l.dim)
	head.NoBias = !bias
	return &nn.Spec{Name: "text tower", Input: nn.Shape{H: 1, W: l.length, C: l.width},
		Layers: append(all, norm("norm"), head, nn.Layer{Kind: nn.Flatten})}
}
