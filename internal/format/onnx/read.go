package onnx

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// Read parses the model at path, with the weights that it keeps in other files
// of the same folder. What it reads of either must be within the limit of package
// budget. The nodes are brought into an order in which they can be computed.
func Read(path string) (*Model, error) {
	data, err := fileinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := p.readExternals(filepath.Dir(path), int64(len(data))); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := p.readTensors(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &p.Model, nil
}

// Parse is Read for a model that is in memory already; its tensors share that
// memory. A model that keeps weights in other files is an error.
func Parse(data []byte) (*Model, error) {
	p, err := parse(data)
	if err != nil {
		return nil, err
	}
	for t, where := range p.externals {
		return nil, fmt.Errorf("onnx: tensor %q lies in the file %q beside the model, which is not known here",
			t.Name, where.location)
	}
	if err := p.readTensors(); err != nil {
		return nil, err
	}
	return &p.Model, nil
}

func (p *parsedModel) readTensors() error {
	if err := p.inlineFunctions(); err != nil {
		return fmt.Errorf("onnx: %w", err)
	}
	if err := p.Graph.sort(); err != nil {
		return err
	}
	return p.Check()
}

// readExternals reads the tensors that lie in other files of the folder. have is
// what the model itself takes.
func (p *parsedModel) readExternals(folder string, have int64) error {
	if len(p.externals) == 0 {
		return nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	files := map[string]*os.File{}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	// In the order of the graph: the same file gives the same error every time.
	for _, t := range p.tensors() {
		where, ok := p.externals[t]
		if !ok {
			continue
		}
		if files[where.location] == nil {
			f, err := openExternal(root, where.location)
			if err != nil {
				return fmt.Errorf("onnx: tensor %q: %w", t.Name, err)
			}
			files[where.location] = f
		}
		if have, err = t.readFrom(files[where.location], where, have); err != nil {
			return fmt.Errorf("onnx: tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

// tensors lists the initializers and the constants of nodes, of functions too.
func (p *parsedModel) tensors() []*Tensor {
	list := p.Graph.tensors()
	for i := range p.functions {
		list = append(list, p.functions[i].body.tensors()...)
	}
	return list
}

func (g *Graph) tensors() []*Tensor {
	var list []*Tensor
	for i := range g.Initializers {
		list = append(list, &g.Initializers[i])
	}
	for i := range g.Nodes {
		for k := range g.Nodes[i].Attrs {
			a := &g.Nodes[i].Attrs[k]
			if a.Tensor != nil {
				list = append(list, a.Tensor)
			}
			if a.Graph != nil {
				list = append(list, a.Graph.tensors()...)
			}
		}
	}
	return list
}

// openExternal opens a file of the model's folder; links may not lead out of it.
func openExternal(root *os.Root, name string) (*os.File, error) {
	local, err := filepath.Localize(filepath.ToSlash(name))
	if err != nil {
		return nil, fmt.Errorf("its values are said to lie in %q, which leaves the model's folder: "+
			"weights are read from there alone; put the file beside the model and save it with a plain name", name)
	}
	f, err := fileinfo.OpenIn(root, local)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("its values lie in %q, which is not in the model's folder: get that file too", name)
	}
	if err != nil {
		return nil, fmt.Errorf("its values lie in %q: %w", name, err)
	}
	return f, nil
}

// readFrom reads the tensor's values; have and the result count what the model
// takes, before and after.
func (t *Tensor) readFrom(f *os.File, where externalPlace, have int64) (int64, error) {
	size := t.Type.Size()
	if size == 0 {
		return 0, fmt.Errorf("values of type %s are not read from other files", t.Type)
	}
	want := budget.Product(t.Len(), int64(size))
	if want == math.MaxInt64 {
		return 0, fmt.Errorf("shape %d is impossible", t.Shape)
	}
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if where.length < 0 {
		where.length = max(0, st.Size()-where.offset)
	}
	if where.length != want {
		return 0, fmt.Errorf("%d bytes of %q, but shape %d of %s asks for %d",
			where.length, where.location, t.Shape, t.Type, want)
	}
	if end := budget.Sum(where.offset, want); end > st.Size() {
		return 0, fmt.Errorf("it ends at byte %d of %q, which has %d: truncated", end, where.location, st.Size())
	}
	have = budget.Sum(have, want)
	if err := budget.Check("onnx: the model's weights", have); err != nil {
		return 0, err
	}
	t.Data, err = budget.ReadN(where.location, io.NewSectionReader(f, where.offset, want), want)
	return have, err
}
