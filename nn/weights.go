package nn

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// The files of a saved network.
const (
	WeightsFile = "model.safetensors"
	SpecFile    = "model.json"
)

// State copies all parameters and running statistics, in PyTorch's layout and
// under PyTorch's names.
func (e *Net) State() *safetensors.File {
	f := &safetensors.File{}
	for _, p := range e.params {
		v := make([]float32, len(p.Value))
		p.ToTorch(v)
		f.Tensors = append(f.Tensors, safetensors.Float32(p.Name, p.Shape, v))
	}
	return f
}

// SetState sets all parameters and running statistics. Every one must be
// present with its shape and finite values, and nothing else may be present,
// except the counters that PyTorch's batch norm keeps (num_batches_tracked). On
// error nothing is changed.
func (e *Net) SetState(f *safetensors.File) error {
	var m Mismatch
	values := map[*Param][]float32{}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		p := e.byName[t.Name]
		switch {
		case strings.HasSuffix(t.Name, "num_batches_tracked"):
			continue
		case p == nil || values[p] != nil:
			m.Unexpected = append(m.Unexpected, t.Name)
			continue
		}
		v, err := t.FiniteFloat32s()
		if err != nil {
			return err
		}
		values[p] = v
		if !slices.Equal(p.Shape, t.Shape) {
			m.MisShaped = append(m.MisShaped, fmt.Sprintf("%s: %v in the file, %v in the network", t.Name, t.Shape,
				p.Shape))
		}
	}
	for _, p := range e.params {
		if values[p] == nil {
			m.Missing = append(m.Missing, p.Name)
		}
	}
	if !m.IsComplete() {
		return fmt.Errorf("weights do not fit network %s: %s", e.spec.Name, &m)
	}
	ready, fresh, err := e.compileGraphs(values)
	if err != nil {
		return fmt.Errorf("weights do not fit network %s: %w", e.spec.Name, err)
	}
	for p, v := range values {
		if laid := fresh[p]; laid != nil {
			p.Value = laid
		} else {
			p.FromTorch(v)
		}
	}
	e.graphs = ready
	e.packed = false
	e.SetConstant(false)
	return nil
}

// Save writes the weights and the description into an existing folder. For a
// network for images, Spec.Meta can say under "pixels", "fit" and "shorter" how
// images are prepared; package run and kindred embed --network read these.
func (e *Net) Save(dir string) error {
	return e.SaveWith(func(name string, content func(io.Writer) error) error {
		return atomic.WriteFile(filepath.Join(dir, name), content)
	})
}

// SaveWith passes the name and content of each file that Save writes to write,
// and returns its first error.
func (e *Net) SaveWith(write func(name string, content func(io.Writer) error) error) error {
	spec, err := e.spec.JSON()
	if err != nil {
		return err
	}
	if err := write(WeightsFile, e.State().Write); err != nil {
		return err
	}
	text := func(b []byte) func(w io.Writer) error {
		return func(w io.Writer) error {
			_, err := w.Write(append(b, '\n'))
			return err
		}
	}
	if q := e.opt.Quantization; q != nil {
		b, err := q.JSON()
		if err != nil {
			return err
		}
		if err := write(QuantizationFile, text(b)); err != nil {
			return err
		}
	}
	return write(SpecFile, text(spec))
}

// Load restores the network that Save wrote to a folder. With Int8 it reads the ranges of
// activations too, unless the options have them.
func Load(dir string, opt Options) (*Net, error) {
	if opt.Precision == Int8 && opt.Quantization == nil {
		path := filepath.Join(dir, QuantizationFile)
		data, err := fileinfo.ReadAtMost(path, "quantization", maxQuantization)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: precision int8 needs the ranges of activations, which a calibration "+
				"writes there", path)
		}
		if err != nil {
			return nil, err
		}
		if opt.Quantization, err = ParseQuantization(data); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	path := filepath.Join(dir, SpecFile)
	data, err := fileinfo.ReadAtMost(path, "a description of a network", maxSpec)
	if err != nil {
		return nil, err
	}
	spec, err := ParseSpec(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	e, err := New(spec, opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	path = filepath.Join(dir, WeightsFile)
	f, err := safetensors.Read(path)
	if err != nil {
		return nil, err
	}
	if err := e.SetState(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if q := opt.Quantization; q != nil {
		if err := e.checkQuantization(q); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, QuantizationFile), err)
		}
	}
	return e, nil
}
