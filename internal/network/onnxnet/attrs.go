package onnxnet

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// attrs reads a node's attributes; the first that is of another type than its
// operator's sets err.
type attrs struct {
	node *onnx.Node
	err  error
}

func (a *attrs) find(name string, typ onnx.AttrType) *onnx.Attr {
	x := a.node.Attr(name)
	if x != nil && x.Type != typ {
		if a.err == nil {
			a.err = fmt.Errorf("attribute %q is of type %s, not %s", name, x.Type, typ)
		}
		return nil
	}
	return x
}

func (a *attrs) int(name string, otherwise int64) int64 {
	if x := a.find(name, onnx.AttrInt); x != nil {
		return x.Int
	}
	return otherwise
}

func (a *attrs) float(name string, otherwise float32) float32 {
	if x := a.find(name, onnx.AttrFloat); x != nil {
		return x.Float
	}
	return otherwise
}

func (a *attrs) text(name, otherwise string) string {
	if x := a.find(name, onnx.AttrString); x != nil {
		return x.String
	}
	return otherwise
}

// ints returns nil where the attribute is left out.
func (a *attrs) ints(name string) []int64 {
	if x := a.find(name, onnx.AttrInts); x != nil {
		return x.Ints
	}
	return nil
}
