// Package contents lists the contents of a network, an ONNX file or a file of weights,
// as the text and the JSON of kindred network show.
package contents

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// Network is a network's layers, in the order of execution, with their sums.
type Network struct {
	Name   string   `json:"name"`
	Input  nn.Shape `json:"input"`
	Dim    int      `json:"dim"`
	Params int64    `json:"params"`
	MACs   int64    `json:"macs"` // for one image
	Layers []Layer  `json:"layers"`
	// Preparation is nil if it is not known how images are prepared.
	Preparation *Preparation `json:"preparation,omitempty"`
	// Computed says how a published network computes beyond its weights, and where that is known from.
	Computed string   `json:"computed,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// Layer is one layer.
type Layer struct {
	Path   string   `json:"path"`
	Kind   nn.Kind  `json:"kind"`
	In     nn.Shape `json:"in"`
	Out    nn.Shape `json:"out"`
	Params int      `json:"params"`
	MACs   int64    `json:"macs"`
}

// Preparation describes how images become the input of the network.
type Preparation struct {
	Pixels  string `json:"pixels"`
	Fit     string `json:"fit"`
	Shorter int    `json:"shorter,omitempty"`
	// Resample is the filter of Pillow's by which images are resized.
	Resample string `json:"resample,omitempty"`
	// Colours says what becomes of colours of another space than sRGB, as data.colours does; "" means srgb.
	Colours string `json:"colours,omitempty"`
}

// NewNetwork lists the layers of a network.
func NewNetwork(spec *nn.Spec) (*Network, error) {
	infos, err := spec.Shapes()
	if err != nil {
		return nil, err
	}
	n := &Network{Name: spec.Name, Input: spec.Input, Dim: spec.OutDim(), Layers: []Layer{},
		Computed: spec.Meta["computed"]}
	for _, l := range infos {
		n.Params += int64(l.Params)
		n.MACs += l.MACs
		n.Layers = append(n.Layers, Layer{l.Path, l.Kind, l.In, l.Out, l.Params, l.MACs})
	}
	return n, nil
}

// Write writes the layers as a table, without the notes.
func (n *Network) Write(out io.Writer) error {
	fmt.Fprintf(out, "%s: images of %s in, %d values out\n", n.Name, n.Input, n.Dim)
	if p := n.Preparation; p != nil {
		fmt.Fprintf(out, "prepared with pixels %s, fit %s\n", cmp.Or(p.Pixels, "unknown"), cmp.Or(p.Fit, "unknown"))
	}
	for fact := range strings.SplitSeq(n.Computed, "; ") {
		if fact != "" {
			fmt.Fprintln(out, fact)
		}
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "layer\tkind\toutput\tweights\tmultiply-adds\t")
	for _, l := range n.Layers {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", l.Path, l.Kind, l.Out, FormatCount(int64(l.Params)),
			FormatCount(l.MACs))
	}
	fmt.Fprintf(w, "\t\t\t%s\t%s\t\n", FormatCount(n.Params), FormatCount(n.MACs))
	return w.Flush()
}

// FormatCount writes a number with separated thousands, and "" for 0.
func FormatCount(n int64) string {
	if n == 0 {
		return ""
	}
	digits := fmt.Sprint(n)
	var parts []string
	for len(digits) > 3 {
		parts = append(parts, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	parts = append(parts, digits)
	slices.Reverse(parts)
	return strings.Join(parts, " ")
}

// Model has the nodes of an ONNX file.
type Model struct {
	Nodes    []Node `json:"nodes"`
	Opset    int64  `json:"opset"`
	Producer string `json:"producer"`
}

// Node is one operator.
type Node struct {
	Name    string   `json:"name"`
	Op      string   `json:"op"`
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
}

// NewModel lists the nodes of an ONNX file.
func NewModel(m *onnx.Model) Model {
	out := Model{Nodes: []Node{}, Opset: m.Opset(), Producer: m.Producer}
	for _, n := range m.Graph.Nodes {
		out.Nodes = append(out.Nodes, Node{n.Name, n.Op, n.Inputs, n.Outputs})
	}
	return out
}

// WriteModel writes the inputs and outputs of an ONNX file, and its nodes as a table.
func WriteModel(out io.Writer, path string, m *onnx.Model) error {
	fmt.Fprintf(out, "%s: by %s %s, opset %d\n", path, cmp.Or(m.Producer, "?"), m.ProducerVersion, m.Opset())
	for _, v := range m.Graph.Inputs {
		fmt.Fprintf(out, "input   %s: %s\n", v.Name, v.String())
	}
	for _, v := range m.Graph.Outputs {
		fmt.Fprintf(out, "output  %s: %s\n", v.Name, v.String())
	}
	for _, e := range m.Meta {
		fmt.Fprintf(out, "%s = %s\n", e.Key, e.Value)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tOPERATOR\tOUTPUT\tINPUTS")
	for _, n := range m.Graph.Nodes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", n.Name, n.Op, strings.Join(n.Outputs, ", "), strings.Join(n.Inputs, ", "))
	}
	return w.Flush()
}

// Weights has the tensors of a file of weights.
type Weights struct {
	Metadata map[string]string `json:"metadata"`
	Tensors  []Tensor          `json:"tensors"`
	Values   int64             `json:"values"` // of all tensors
}

// Tensor is one tensor.
type Tensor struct {
	Name  string            `json:"name"`
	Type  safetensors.DType `json:"type"`
	Shape []int             `json:"shape"`
}

// NewWeights lists the tensors of a file.
func NewWeights(f *safetensors.File) *Weights {
	out := &Weights{Metadata: f.Meta, Tensors: []Tensor{}}
	for _, t := range f.Tensors {
		out.Tensors = append(out.Tensors, Tensor{t.Name, t.DType, t.Shape})
		if n, err := safetensors.ShapeSize(t.Shape); err == nil {
			out.Values += int64(n)
		}
	}
	return out
}

// Write writes the tensors as a table; path is the name of their file.
func (f *Weights) Write(out io.Writer, path string) error {
	fmt.Fprintf(out, "%s: %d tensors, %s values\n\n", path, len(f.Tensors), FormatCount(f.Values))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TENSOR\tTYPE\tSHAPE")
	for _, t := range f.Tensors {
		fmt.Fprintf(w, "%s\t%s\t%d\n", t.Name, t.Type, t.Shape)
	}
	return w.Flush()
}
