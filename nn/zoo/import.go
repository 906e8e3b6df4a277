package zoo

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/format/torchfile"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// ImportOptions adapt weights that were trained elsewhere.
type ImportOptions struct {
	// Rename turns a tensor's name into the parameter's; "" drops the tensor. By
	// default Import tries the names of torchvision, timm, Hugging Face, DINO and
	// CLIP for the networks of Network, without the prefixes of wrappers
	// ("module.", "backbone.", "state_dict."), and takes those that fit the most
	// tensors.
	Rename func(name string) string
	// AdaptInput lets the first convolution take a different number of channels:
	// for one channel, filters are summed over the file's channels; for three, a
	// single channel's filters are divided by three and repeated. So a grey image
	// gives the same response either way.
	AdaptInput bool
	// Positions says how position embeddings are resampled for images of another
	// size.
	Positions Resample
	// Partial accepts files with less than three quarters of the body's parameters.
	// Without Partial and Rename such files are an error: tensors fit by accident,
	// or the file is for another network.
	Partial bool
	// KeepLayer is the name of a layer that keeps its values, whatever the file has.
	KeepLayer string
}

// minLoadedShare is the share of the body's parameters that a file must have.
const minLoadedShare = 0.75

// ImportReport says what Import did with each tensor.
type ImportReport struct {
	Names   string   // the naming of the file: "torchvision", "timm"; "" for the network's own
	Body    [2]int   // parameters of the body that were set, and all of them
	Loaded  []string // parameters that were set
	Renamed []string // those of Loaded with another name in the file: "encoder.ln.weight -> norm.weight"
	Adapted []string // those of Loaded whose channels or positions were adapted
	nn.Mismatch
}

// String lists what does not match.
func (r *ImportReport) String() string {
	if r.IsComplete() {
		return fmt.Sprintf("all %d tensors match", len(r.Loaded))
	}
	return r.Mismatch.String()
}

// ReadWeights reads a file of weights for Import: safetensors or a file of
// PyTorch's torch.save, recognised by its content. It executes nothing from the
// file.
func ReadWeights(path string) (*safetensors.File, error) { return torchfile.ReadWeights(path) }

// Import sets every parameter for which the file has a tensor of the right shape,
// and reports the rest, which keep their values. Dimensions of 1 do not count: a 1
// x 1 convolution is a linear map. It is an error if no parameter is set, if less
// than three quarters of the body's are (unless opt.Partial allows it), or if a
// matching tensor holds NaN or infinity. On error nothing changes.
func Import(net *nn.Net, f *safetensors.File, opt ImportOptions) (*ImportReport, error) {
	if err := enum.Check("resampling", opt.Positions, resamples()); err != nil {
		return nil, err
	}
	m, err := newMatcher(net)
	if err != nil {
		return nil, err
	}
	r, values, err := m.match(f, opt)
	if err != nil {
		return nil, err
	}
	few := float64(r.Body[0]) < minLoadedShare*float64(r.Body[1]) && !opt.Partial && opt.Rename == nil
	if few || len(values) == 0 {
		return r, m.mismatchError(f, r)
	}
	for p, v := range values {
		p.FromTorch(v)
	}
	return r, nil
}

// matcher is the network whose parameters are looked for in a file.
type matcher struct {
	spec   *nn.Spec
	params []*nn.Param
	byName map[string]*nn.Param
	body   int // how many of params, the first, belong to the body
}

func newMatcher(net *nn.Net) (*matcher, error) {
	g, err := net.Spec().Graph()
	if err != nil {
		return nil, err
	}
	m := &matcher{spec: net.Spec(), byName: map[string]*nn.Param{}}
	for i, p := range net.Params() {
		if p.IsAdapter() { // no file has them
			continue
		}
		if i < g.Body {
			m.body++
		}
		m.params = append(m.params, p)
		m.byName[p.Name] = p
	}
	return m, nil
}

// mismatchError says that a file does not fit, what was looked for and what it is.
func (m *matcher) mismatchError(f *safetensors.File, r *ImportReport) error {
	looked := []string{"its own"}
	for _, d := range namings(m.spec) {
		if d.name != "" && !slices.Contains(looked, d.name) {
			looked = append(looked, d.name)
		}
	}
	looks := "no network that is known by name"
	if name, o, err := Guess(f); err == nil {
		looks = name
		if o.Multiple != 0 && o.Multiple != 1 {
			looks += fmt.Sprintf(" times %.3g", o.Multiple)
		}
	}
	return fmt.Errorf("the file's %d tensors fit %d of the %d parameters of the body of network %s "+
		"(names looked for: %s); the file looks like %s\n%s", len(f.Tensors), r.Body[0], r.Body[1], m.spec.Name,
		strings.Join(looked, ", "), looks, r)
}

// source is a tensor that a parameter is set from, or a part of it.
type source struct {
	tensor *safetensors.Tensor
	as     target
}

// match finds the value of each parameter, in PyTorch's layout.
func (m *matcher) match(f *safetensors.File, opt ImportOptions) (*ImportReport, map[*nn.Param][]float32, error) {
	f = splitTensors(f)
	d, prefix := namingByFunc(opt.Rename), ""
	if opt.Rename == nil {
		d, prefix = bestNaming(f, namings(m.spec), m.byName)
	}
	r := &ImportReport{Names: d.name, Body: [2]int{0, m.body}}
	sources := map[*nn.Param][]source{}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		as, ok := d.find(t.Name, prefix)
		if !ok || isIgnored(t.Name) {
			continue
		}
		p := m.byName[as.name]
		taken := func(s source) bool { return s.as.part == as.part }
		if p == nil || slices.ContainsFunc(sources[p], taken) {
			r.Unexpected = append(r.Unexpected, t.Name)
			continue
		}
		sources[p] = append(sources[p], source{t, as})
	}
	values := map[*nn.Param][]float32{}
	for i, p := range m.params {
		s := sources[p]
		if !hasAllParts(p, s) {
			r.Missing = append(r.Missing, p.Name)
			continue
		}
		v, err := m.value(p, s, opt, r)
		if err != nil {
			return nil, nil, err
		}
		if v == nil {
			continue
		}
		values[p] = v
		r.Loaded = append(r.Loaded, p.Name)
		if i < m.body {
			r.Body[0]++
		}
		if from := sourceNames(s); from != p.Name {
			r.Renamed = append(r.Renamed, from+" -> "+p.Name)
		}
	}
	return r, values, nil
}

// isIgnored tells tensors that no network here reads: counters, what training alone uses, and what
// follows from the description.
func isIgnored(name string) bool {
	return slices.ContainsFunc([]string{"num_batches_tracked", "mask_token", "qkv.bias_mask", "rope_embed.periods"},
		func(end string) bool { return strings.HasSuffix(name, end) })
}

// hasAllParts reports whether all parts of a parameter are there. That of values which are always 0
// may be missing.
func hasAllParts(p *nn.Param, s []source) bool {
	if len(s) == 0 || len(s) >= s[0].as.parts {
		return len(s) > 0
	}
	lo, hi := p.Zeros()
	middle := func(s source) bool { return s.as.part == 2 }
	return hi > lo && len(s) == 2 && s[0].as.parts == 3 && !slices.ContainsFunc(s, middle)
}

func sourceNames(s []source) string {
	names := make([]string, len(s))
	for i := range s {
		names[i] = s[i].tensor.Name
	}
	return strings.Join(names, " + ")
}

// value is what p is set to, nil if the shapes do not allow it, which r then
// says.
func (m *matcher) value(p *nn.Param, s []source, opt ImportOptions, r *ImportReport) ([]float32, error) {
	if opt.KeepLayer != "" && strings.HasPrefix(p.Name, opt.KeepLayer+".") {
		return nil, nil
	}
	shape, fits := s[0].shape(), false
	var adapt func(v []float32) []float32
	switch {
	case sameShape(p.Shape, shape):
		fits = true
	case opt.AdaptInput && m.canAdaptInput(p, shape):
		adapt = func(v []float32) []float32 {
			return adaptChannels(v, shape[1], p.Shape[1], p.Shape[2]*p.Shape[3])
		}
	case gridOf(p) != (grid{}):
		if from, ok := positionGrid(p, shape); ok {
			adapt = func(v []float32) []float32 {
				return resamplePositions(v, from, gridOf(p), p.Shape[2], opt.Positions)
			}
		}
	}
	if adapt == nil && !fits {
		r.MisShaped = append(r.MisShaped, fmt.Sprintf("%s: %v in the file, %v in the network", sourceNames(s),
			s[0].tensor.Shape, p.Shape))
		return nil, nil
	}
	slices.SortFunc(s, func(a, b source) int { return a.as.part - b.as.part })
	var all []float32
	for i, one := range s {
		if !slices.Equal(one.shape(), shape) {
			r.MisShaped = append(r.MisShaped, fmt.Sprintf("%s: parts of different shapes", sourceNames(s)))
			return nil, nil
		}
		v, err := one.tensor.FiniteFloat32s()
		if err != nil {
			return nil, err
		}
		if s := one.tensor.Shape; one.as.transpose && len(s) == 2 {
			v = transposed(v, s)
		}
		if one.as.part > i+1 { // the part before it is always 0
			all = append(all, make([]float32, len(v))...)
		}
		all = append(all, v...)
	}
	if adapt != nil {
		all = adapt(all)
		r.Adapted = append(r.Adapted, p.Name)
	}
	return all, nil
}

// shape is the shape of all parts together, which is the parameter's.
func (s *source) shape() []int {
	shape := slices.Clone(s.tensor.Shape)
	if s.as.transpose && len(shape) == 2 {
		shape[0], shape[1] = shape[1], shape[0]
	}
	if s.as.parts > 1 && len(shape) > 0 {
		shape[0] *= s.as.parts
	}
	return shape
}

// sameShape compares shapes and ignores dimensions of 1.
func sameShape(a, b []int) bool {
	one := func(n int) bool { return n == 1 }
	return slices.Equal(slices.DeleteFunc(slices.Clone(a), one), slices.DeleteFunc(slices.Clone(b), one))
}

func transposed(v []float32, shape []int) []float32 {
	rows, cols := shape[0], shape[1]
	t := make([]float32, len(v))
	for i := range rows {
		for j := range cols {
			t[j*rows+i] = v[i*cols+j]
		}
	}
	return t
}

// canAdaptInput reports whether p is the first convolution and shape differs from its
// own in the input channels alone, 1 against 3.
func (m *matcher) canAdaptInput(p *nn.Param, shape []int) bool {
	if p != m.params[0] || len(p.Shape) != 4 || len(shape) != 4 {
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

// positionGrid tells what grid a table of positions of that shape has, which is
// square, with the tokens that p has before its own or none.
func positionGrid(p *nn.Param, shape []int) (grid, bool) {
	for len(shape) > 2 && shape[0] == 1 {
		shape = shape[1:]
	}
	if len(shape) != 2 || shape[1] != p.Shape[2] {
		return grid{}, false
	}
	for _, tokens := range []int{gridOf(p).tokens, 0} {
		if n := shape[0] - tokens; n > 0 {
			if side := int(math.Round(math.Sqrt(float64(n)))); side*side == n {
				return grid{tokens, side, side}, true
			}
		}
	}
	return grid{}, false
}
