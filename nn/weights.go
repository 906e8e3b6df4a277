package nn

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/format/safetensors"
	"github.com/kindred-ml/kindred/internal/atomic"
	"github.com/kindred-ml/kindred/internal/regular"
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
	r, values, err := e.match(f, ImportOptions{})
	if err != nil {
		return err
	}
	if !r.Complete() {
		return fmt.Errorf("weights do not fit network %s: %s", e.spec.Name, r)
	}
	set(values)
	return nil
}

func set(values map[*Param][]float32) {
	for p, v := range values {
		p.FromTorch(v)
	}
}

// Save writes the weights and the description into an existing folder.
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
	return write(SpecFile, func(w io.Writer) error {
		_, err := w.Write(append(spec, '\n'))
		return err
	})
}

// Load restores the network that Save wrote to a folder.
func Load(dir string, opt Options) (*Net, error) {
	path := filepath.Join(dir, SpecFile)
	data, err := readSpec(path)
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
	return e, nil
}

// readSpec reads a file, no more of it than ParseSpec takes and one byte.
func readSpec(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSpec+1))
}

// ImportOptions adapt weights that were trained elsewhere.
type ImportOptions struct {
	// Rename turns a tensor's name into the parameter's; "" drops the tensor. Nil
	// knows the names of torchvision and timm, and drops the prefixes "module.",
	// "model.", "backbone." and "state_dict." if that leads to a parameter.
	Rename func(name string) string
	// AdaptInput lets the first convolution take a different number of channels:
	// filters are summed over channels for one channel, and a single channel's
	// are spread over three (divided by three), so that a grey image gives the
	// same response either way.
	AdaptInput bool
}

// ImportReport says what happened to each tensor.
type ImportReport struct {
	Loaded     []string // parameters that were set
	Adapted    []string // those of Loaded whose channels were adapted
	Missing    []string // parameters that the file does not have
	Unexpected []string // tensors that the network does not have
	MisShaped  []string // "fc.weight: [1000, 512] in the file, [128, 512] in the network"
}

// Complete reports whether file and network match exactly.
func (r *ImportReport) Complete() bool {
	return len(r.Missing)+len(r.Unexpected)+len(r.MisShaped) == 0
}

// String lists what does not match.
func (r *ImportReport) String() string {
	var parts []string
	list := func(what string, names []string) {
		if len(names) == 0 {
			return
		}
		shown, rest := names, ""
		if len(names) > 8 {
			shown, rest = names[:8], fmt.Sprintf(" and %d more", len(names)-8)
		}
		parts = append(parts, fmt.Sprintf("%s: %s%s", what, strings.Join(shown, "; "), rest))
	}
	list("missing", r.Missing)
	list("unexpected", r.Unexpected)
	list("of another shape", r.MisShaped)
	if len(parts) == 0 {
		return fmt.Sprintf("all %d tensors match", len(r.Loaded))
	}
	return strings.Join(parts, "\n")
}

// Import sets every parameter that the file has with the right shape, and
// reports the rest; parameters that are not set keep their values. It is an
// error if nothing matches, or if a matching tensor holds NaN or infinity;
// nothing is changed then.
func (e *Net) Import(f *safetensors.File, opt ImportOptions) (*ImportReport, error) {
	r, values, err := e.match(f, opt)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return r, fmt.Errorf("no tensor fits network %s\n%s", e.spec.Name, r)
	}
	set(values)
	return r, nil
}

// match finds the value of each parameter, in PyTorch's layout.
func (e *Net) match(f *safetensors.File, opt ImportOptions) (*ImportReport, map[*Param][]float32, error) {
	r := &ImportReport{}
	values := map[*Param][]float32{}
	seen := map[*Param]bool{}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		name := e.rename(t.Name, opt.Rename)
		if name == "" || strings.HasSuffix(name, "num_batches_tracked") {
			continue
		}
		p := e.byName[name]
		if p == nil || seen[p] {
			r.Unexpected = append(r.Unexpected, t.Name)
			continue
		}
		seen[p] = true
		adapt := opt.AdaptInput && e.adaptable(p, t.Shape)
		if !adapt && !slices.Equal(p.Shape, t.Shape) {
			r.MisShaped = append(r.MisShaped,
				fmt.Sprintf("%s: %v in the file, %v in the network", t.Name, t.Shape, p.Shape))
			continue
		}
		v, err := t.Float32s()
		if err != nil {
			return nil, nil, err
		}
		for _, x := range v {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return nil, nil, fmt.Errorf("weights: %s holds %v: %w", t.Name, x, ErrNotFinite)
			}
		}
		if adapt {
			v = adaptChannels(v, t.Shape[1], p.Shape[1], p.Shape[2]*p.Shape[3])
			r.Adapted = append(r.Adapted, p.Name)
		}
		values[p] = v
		r.Loaded = append(r.Loaded, p.Name)
	}
	for _, p := range e.params {
		if !seen[p] {
			r.Missing = append(r.Missing, p.Name)
		}
	}
	return r, values, nil
}

// adaptable tells whether p is the first convolution and shape differs from its
// own in the input channels alone, 1 against 3.
func (e *Net) adaptable(p *Param, shape []int) bool {
	if p != e.params[0] || len(p.Shape) != 4 || len(shape) != 4 {
		return false
	}
	from, to := shape[1], p.Shape[1]
	return shape[0] == p.Shape[0] && slices.Equal(shape[2:], p.Shape[2:]) &&
		(from == 1 && to == 3 || from == 3 && to == 1)
}

// adaptChannels sums filters over their channels, or spreads one over several.
func adaptChannels(v []float32, from, to, area int) []float32 {
	filters := len(v) / (from * area)
	out := make([]float32, filters*to*area)
	for k := range filters {
		for i := range area {
			var sum float32
			for c := range from {
				sum += v[(k*from+c)*area+i]
			}
			for c := range to {
				out[(k*to+c)*area+i] = sum / float32(to)
			}
		}
	}
	return out
}
