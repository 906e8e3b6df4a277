package onnxnet

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// Options say which part of a model to import. The zero value imports the features
// before the classifier, at the model's own image size.
type Options struct {
	// Cut names the tensor or node with which the network ends. By default it ends
	// before the classifier, which is the last weighted sums after the pooling of
	// positions. A model whose output is called features or embedding, or that Export
	// wrote, is imported whole.
	Cut string
	// Size is the side of the images in pixels. 0: the model's own size, or 224 if
	// the model leaves it open.
	Size int
	// Trainable refuses a model that is not made of layers that can be trained, which is
	// otherwise run as it stands.
	Trainable bool

	isTrial     bool // it is a trial of an end; see advised
	defaultSize int  // the size where the model leaves it open; 0: defaultSize
}

// Network is an ONNX model as a network of package nn. Weights holds a tensor for
// every parameter of Spec, under its name.
type Network struct {
	Spec    *nn.Spec
	Weights *safetensors.File
	// Preparation is what the model says about its input, with "" for what it does
	// not say.
	Preparation Preparation
	// Frozen says that Spec is not made of layers that can be trained: it is the model as it
	// stands, a single layer of kind operators.
	Frozen bool
	// Notes say where the network was cut and what was assumed.
	Notes []string

	evidence Preparation // what the model's first layers and its input show
}

// defaultSize is the side of images where a model leaves it open.
const defaultSize = 224

// Read imports the model at path. The network is named after the file. How images are prepared
// is decided by the model's metadata, the files beside it (see published.ReadPreparation), its first layers, the type
// of its input, or its name.
func Read(path string, opt Options) (*Network, error) {
	m, err := onnx.Read(path)
	if err != nil {
		return nil, err
	}
	beside, notes, err := published.ReadPreparation(path)
	if err != nil {
		return nil, err
	}
	opt.defaultSize = beside.Side
	net, err := Import(m, opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	net.Spec.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if net.Frozen {
		net.Notes = append([]string{fmt.Sprintf("frozen: features of %s, a head is trained", filepath.Base(path))},
			net.Notes...)
	}
	net.Notes = append(net.Notes, notes...)
	net.choosePreparation(beside, net.Spec.Name)
	return net, nil
}

// Model is an ONNX model: a graph of operators with their weights. Write writes it as
// a file.
type Model = onnx.Model

// Parse reads a model from the bytes of its file, which its tensors share. A model
// that keeps weights in other files is an error.
func Parse(data []byte) (*Model, error) { return onnx.Parse(data) }

// Import turns a model into a network: one of layers that can be trained or, if package nn has
// no layers for the model, the model as it stands (Network.Frozen). It is an error if the model
// has operators that are not computed either, or several images. The error names the node and its
// operator.
func Import(m *Model, opt Options) (*Network, error) {
	net, err := convert(m, opt)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", escape.Shorten(err))
	}
	net.choosePreparation(Preparation{}, "")
	return net, nil
}

// maxNodes bounds the nodes of a model; networks have some thousands.
const maxNodes = 100_000

// convert makes a network of layers or, where the model is not made of these, of the model as it stands.
func convert(m *onnx.Model, opt Options) (*Network, error) {
	if len(m.Graph.Nodes) > maxNodes {
		return nil, fmt.Errorf("%d nodes; at most %d are read", len(m.Graph.Nodes), maxNodes)
	}
	image, err := findImage(m)
	if err != nil {
		return nil, err
	}
	net, err := lift(m, image, opt)
	var large *budget.Error
	var sure *definiteError
	if err == nil || opt.Trainable || opt.isTrial || errors.As(err, &large) || errors.As(err, &sure) {
		return net, err
	}
	whole := &Network{Weights: &safetensors.File{}, Preparation: published.FromEntries(m.Meta)}
	if fails := whole.importFrozen(m, image, opt); errors.As(fails, &sure) {
		return nil, fails
	} else if fails != nil {
		return nil, fmt.Errorf("%w; nor can the model run as it stands: %w", escape.Shorten(err), escape.Shorten(fails))
	}
	var no *unsupportedNode
	if errors.As(err, &no) && !strings.Contains(err.Error(), "network.cut") {
		err = no // without the advice, which this is instead
	}
	whole.note("why it is not trained as a whole: %v", err)
	return whole, nil
}

// lift makes a network of layers.
func lift(m *onnx.Model, image *onnx.Value, opt Options) (*Network, error) {
	shape, f := sides(image, cmp.Or(opt.Size, opt.defaultSize))
	g, err := newGraph(m, image, shape)
	if err != nil {
		return nil, err
	}
	net := &Network{Weights: &safetensors.File{}, Preparation: published.FromEntries(m.Meta),
		evidence: rangeFromModel(m, image, shape, f)}
	end, whole, err := net.findEnd(g, m, opt.Cut)
	if err != nil {
		return nil, err
	}
	s, err := newLifter(g).sequence(g.image, end, f)
	if whole && err != nil {
		return nil, g.withAdvice(err, m, opt, s)
	}
	last, err := net.cut(s, whole, err)
	if err != nil {
		return nil, g.withAdvice(err, m, opt, s)
	}
	layers := s.layers[:last.layers]
	if n := countShared(layers, map[*node]bool{}); n > 0 {
		net.note("%d layers with weights are used by several branches: each has weights of its own from here on", n)
	}
	if layers, err = net.toVector(layers, last); err != nil {
		return nil, err
	}
	net.Spec = &nn.Spec{Name: "onnx", Input: nn.Shape{H: f.h, W: f.w, C: f.c}}
	net.Spec.Layers = (&namer{taken: map[string]bool{}}).finish(layers, net.Weights)
	if err := net.Spec.Check(); err != nil {
		return nil, err
	}
	if opt.Size == 0 || f.h == opt.Size && f.w == opt.Size {
		return net, net.checkUncovered(nil)
	}
	before, err := net.Spec.Shapes()
	if err != nil {
		return nil, err
	}
	net.Spec.Input.H, net.Spec.Input.W = opt.Size, opt.Size
	if err := errors.Join(net.resize(), net.checkUncovered(before)); err != nil {
		return nil, &definiteError{fmt.Errorf("made for images of %d x %d, not of %d: %w", f.h, f.w, opt.Size, err)}
	}
	return net, nil
}

// definiteError is the error of what is wrong however the model is run.
type definiteError struct{ error }

func (e *definiteError) Unwrap() error { return e.error }

// countShared counts layers with weights that stand for a node that another one stands for.
func countShared(layers []*layer, seen map[*node]bool) int {
	n := 0
	for _, l := range layers {
		if l.isWeighted() {
			if seen[l.from] {
				n++
			}
			seen[l.from] = true
		}
		n += countShared(l.shortcut, seen) + countShared(l.layers, seen)
	}
	return n
}

// resize makes weights for the size of images that the description has by now:
// position embeddings are resampled, others must not go with the size.
func (net *Network) resize() error {
	made, err := nn.New(net.Spec, nn.Options{})
	if err != nil {
		return err
	}
	report, err := zoo.Import(made, net.Weights, zoo.ImportOptions{Rename: func(name string) string { return name }})
	if err != nil {
		return err
	}
	if !report.IsComplete() {
		return errors.New(report.String())
	}
	if len(report.Adapted) > 0 {
		net.note("position embeddings were resampled for images of %d x %d: %s", net.Spec.Input.H, net.Spec.Input.W,
			strings.Join(report.Adapted, ", "))
		net.Weights = made.State()
	}
	return nil
}

// checkUncovered looks for pools that leave out the end of their input, as those of a fixed
// kernel do in a model that was written for a smaller image. before are the layers at
// the model's own size, nil if the network has that one. A pool that took all of its
// input there, and does not here, is an error.
func (net *Network) checkUncovered(before []nn.LayerInfo) error {
	now, err := net.Spec.Shapes()
	if err != nil {
		return err
	}
	var first nn.LayerInfo
	pools := 0
	for i, l := range now {
		if l.Kind != nn.MaxPool && l.Kind != nn.AvgPool || l.UncoveredEdge == [2]int{} {
			continue
		}
		whole := l.Out.H*l.Out.W == 1
		if before != nil {
			if l.UncoveredEdge == before[i].UncoveredEdge {
				continue
			}
			whole = before[i].Out.H*before[i].Out.W == 1
		}
		switch {
		case whole && before != nil:
			return fmt.Errorf("the layer %s (%s) has a kernel as large as its input of %d x %d there; of %d x %d it "+
				"would leave out the last %d rows and %d columns: export the model for that size, or end before the "+
				"layer with network.cut", l.Path, l.Kind, before[i].In.H, before[i].In.W, l.In.H, l.In.W,
				l.UncoveredEdge[0], l.UncoveredEdge[1])
		case whole || before != nil:
			if pools++; pools == 1 {
				first = l
			}
		}
	}
	if pools > 0 {
		net.note("the layer %s (%s) leaves out the last %d rows and %d columns of its input of %d x %d, for its "+
			"kernel does not grow with the image; there are %d such layers", first.Path, first.Kind,
			first.UncoveredEdge[0], first.UncoveredEdge[1], first.In.H, first.In.W, pools)
	}
	return nil
}

// findImage returns the one input that is an image.
func findImage(m *onnx.Model) (*onnx.Value, error) {
	var found []*onnx.Value
	var names []string
	for i := range m.Graph.Inputs {
		in := &m.Graph.Inputs[i]
		isWeight := slices.ContainsFunc(m.Graph.Initializers, func(t onnx.Tensor) bool { return t.Name == in.Name })
		if isWeight {
			continue
		}
		names = append(names, fmt.Sprintf("%s (%s)", in.Name, in.String()))
		if len(in.Shape) == 4 {
			found = append(found, in)
		}
	}
	if _, err := idsOf(m); err == nil && len(found) == 0 {
		return nil, fmt.Errorf("its input, %s, takes the tokens of a text: it is not a network for images, but words "+
			"can be searched for by it", strings.Join(names, ", "))
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("of its inputs, %s, %d are images (with four axes); there must be one",
			strings.Join(names, ", "), len(found))
	}
	return found[0], nil
}

// sides tells the shape of the input for one image: batch, channels, height and
// width, or with the channels last if only that place has 1 or 3 of them.
func sides(image *onnx.Value, size int) ([]int, imageLayout) {
	side := func(i, otherwise int) int {
		if d := image.Shape[i].Size; d > 0 && d <= 1<<20 {
			return int(d)
		}
		return otherwise
	}
	colours := func(i int) bool { return side(i, 0) == 1 || side(i, 0) == 3 }
	if size == 0 {
		size = defaultSize
	}
	if !colours(1) && colours(3) {
		f := imageLayout{h: side(1, size), w: side(2, size), c: side(3, 3)}
		return []int{1, f.h, f.w, f.c}, f
	}
	f := imageLayout{first: true, c: side(1, 3), h: side(2, size), w: side(3, size)}
	return []int{1, f.c, f.h, f.w}, f
}

// findEnd returns the value that the network ends with, or that the classifier
// is cut off from if whole is false.
func (net *Network) findEnd(g *graph, m *onnx.Model, cut string) (end *value, whole bool, err error) {
	if cut != "" {
		v := g.values[cut]
		for _, n := range g.nodes {
			if v == nil && n.Name == cut && len(n.out) > 0 {
				v = n.out[0]
			}
		}
		if v == nil || v == g.image || v.known != nil {
			return nil, false,
				&definiteError{fmt.Errorf("network.cut %q is not a node or tensor that depends on the model's image; "+
					"kindred network show lists them", cut)}
		}
		return v, true, nil
	}
	name, whole, err := net.chosenOutput(m, func(name string) bool {
		v := g.values[name]
		return v != nil && v.known == nil && v != g.image
	})
	return g.values[name], whole || net.Preparation.Source == published.FromMetadata, err
}

// chosenOutput returns the output that a network ends with, of those that the image has a part in, and
// whether its name says that it is an embedding: it is then no classifier's.
func (net *Network) chosenOutput(m *onnx.Model, depends func(name string) bool) (end string, whole bool, err error) {
	var names []string
	for _, o := range m.Graph.Outputs {
		if depends(o.Name) {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return "", false, errors.New("no output of it depends on its image")
	}
	end = names[0]
	for _, word := range []string{"image_embed", "embed", "feature", "pool"} {
		i := slices.IndexFunc(names, func(name string) bool { return strings.Contains(strings.ToLower(name), word) })
		if i >= 0 {
			end, whole = names[i], word != "pool"
			break
		}
	}
	if len(names) > 1 {
		net.note("of its %d outputs, %q is taken", len(names), end)
	}
	return end, whole, nil
}

func (net *Network) note(format string, args ...any) {
	net.Notes = append(net.Notes, escape.Message(fmt.Sprintf(format, args...)))
}

// cut leaves out the classifier: the weighted sums behind the point at which
// there is one position only, and what follows them. It returns the point that the
// network ends with. err is what ended the stretch early.
func (net *Network) cut(s *layerChain, whole bool, err error) (endPoint, error) {
	if len(s.chain) == 0 {
		return endPoint{}, err
	}
	reached := endPoint{s.chain[s.i], len(s.layers), s.form}
	if whole || err == nil && len(s.layers) > 0 && s.last().Kind == nn.L2Normalize { // an embedding, not a classifier
		return reached, nil
	}
	pooled := slices.IndexFunc(s.marks, func(m endPoint) bool {
		return m.layers > 0 && m.form.positions() == 1 && m.form.isSettled()
	})
	if pooled < 0 {
		return reached, err
	}
	last := -1
	first := s.marks[pooled].layers
	for i := first; i < len(s.layers); i++ {
		if s.layers[i].isWeighted() {
			last = i
			if s.layers[first-1].Kind != nn.Dense { // features were pooled: the first ends them
				break
			}
		}
	}
	end := s.marks[len(s.marks)-1]
	if last >= 0 {
		for _, m := range s.marks {
			if m.layers <= last {
				end = m
			}
		}
	} else if err == nil {
		return reached, nil
	}
	net.note("the network ends with %q, of %d values; the classifier behind it is left out "+
		"(network.cut names another end)",
		end.at.name, end.form.c)
	return end, nil
}

// toVector ends a network whose output is an image or tokens. A vector of all
// positions stays what it is.
func (net *Network) toVector(layers []*layer, end endPoint) ([]*layer, error) {
	f := end.form
	if len(layers) == 0 {
		return nil, errors.New("no layer computes anything")
	}
	if f.pad != [4]int{} {
		return nil, errors.New("it ends with padding")
	}
	if f.positions() == 1 && f.drop == 0 {
		return layers, nil
	}
	if x := end.at.shape; f.drop == 0 && len(x) > 0 && len(x) < 3 && x[len(x)-1] == f.len() {
		flat := &layer{Layer: nn.Layer{Kind: nn.Flatten, ChannelFirst: f.first && f.c > 1}, from: end.at.by}
		if n := len(layers) - 1; layers[n].Kind == nn.L2Normalize { // of a vector
			return append(slices.Clone(layers[:n]), flat, layers[n]), nil
		}
		return append(layers, flat), nil
	}
	hasToken := slices.ContainsFunc(layers, func(l *layer) bool { return l.Kind == nn.Tokens && l.At == 0 })
	if hasToken && f.drop == 0 {
		net.note("its output is one value for each of %d positions: the first, the class token's, is taken",
			f.positions())
		return append(layers, &layer{Layer: nn.Layer{Kind: nn.TakeToken}}), nil
	}
	net.note("its output is one value for each of %d positions: their mean is taken", f.positions())
	return append(layers, &layer{Layer: nn.Layer{Kind: nn.GlobalAvgPool, At: f.drop}}), nil
}
