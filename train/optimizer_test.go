package train_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/train"
)

func params(seed uint64, sizes ...int) []*nn.Param {
	rng := rand.New(rand.NewPCG(seed, 1))
	names := []string{"conv1.weight", "conv1.bias", "fc.weight", "fc.bias"}
	var all []*nn.Param
	for i, n := range sizes {
		p := &nn.Param{Name: names[i], Shape: []int{n}, Value: make([]float32, n), Grad: make([]float32, n)}
		for j := range p.Value {
			p.Value[j] = float32(rng.NormFloat64())
		}
		all = append(all, p)
	}
	return all
}

func gradients(ps []*nn.Param, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	for _, p := range ps {
		for j := range p.Grad {
			p.Grad[j] = float32(rng.NormFloat64())
		}
	}
}

func make1(t *testing.T, c train.OptimizerConfig, ps []*nn.Param) *train.Optimizer {
	t.Helper()
	o, err := train.NewOptimizer(c, ps)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestAgainstFormulas compares several steps with the definitions, computed in
// float64 one weight at a time, in the way that PyTorch's documentation gives
// them.
func TestAgainstFormulas(t *testing.T) {
	configs := map[string]train.OptimizerConfig{
		"adam":           {},
		"adam decay":     {Rate: 0.01, WeightDecay: 0.1, Beta1: 0.8, Beta2: 0.95, Eps: 1e-3},
		"adamw":          {Method: train.AdamW, Rate: 0.02},
		"adamw no decay": {Method: train.AdamW, WeightDecay: -1},
		"sgd":            {Method: train.SGD, Rate: 0.1, WeightDecay: 0.05},
		"momentum":       {Method: train.SGD, Rate: 0.1, Momentum: 0.9, WeightDecay: 0.01},
		"nesterov":       {Method: train.SGD, Rate: 0.1, Momentum: 0.9, Nesterov: true},
		"clip":           {Method: train.SGD, Rate: 0.1, ClipNorm: 0.5},
		"clip adam":      {ClipNorm: 0.5, Eps: 0.1},
		"groups": {Rate: 0.01, WeightDecay: 0.1,
			Groups: []train.ParamGroup{{Prefix: "conv1", Scale: 0.1}, {Prefix: "fc.bias", Scale: 1, NoDecay: true}}},
		"cosine": {Rate: 0.1, Schedule: train.RateSchedule{Kind: train.CosineRate, Warmup: 2, Total: 6}},
	}
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			ps := params(1, 33, 5, 20000, 1)
			o := make1(t, c, ps)
			want := newReference(c, ps)
			for step := range 5 {
				gradients(ps, uint64(step))
				want.step(step)
				o.Step()
			}
			for i, p := range ps {
				for j, v := range p.Value {
					if w := want.w[i][j]; math.Abs(float64(v)-w) > 2e-5*(1+math.Abs(w)) {
						t.Fatalf("%s[%d] is %v, want %v", p.Name, j, v, w)
					}
				}
			}
		})
	}
}

type reference struct {
	c       train.OptimizerConfig
	ps      []*nn.Param
	w, m, v [][]float64
}

func newReference(c train.OptimizerConfig, ps []*nn.Param) *reference {
	def := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&c.Rate, 1e-3)
	def(&c.Beta1, 0.9)
	def(&c.Beta2, 0.999)
	def(&c.Eps, 1e-8)
	if c.Method == train.AdamW {
		def(&c.WeightDecay, 0.01)
	}
	c.WeightDecay = max(c.WeightDecay, 0)
	r := &reference{c: c, ps: ps}
	for _, p := range ps {
		w := make([]float64, len(p.Value))
		for i, v := range p.Value {
			w[i] = float64(v)
		}
		r.w = append(r.w, w)
		r.m = append(r.m, make([]float64, len(w)))
		r.v = append(r.v, make([]float64, len(w)))
	}
	return r
}

func (r *reference) step(step int) {
	c := r.c
	clip := 1.0
	var square float64
	for _, p := range r.ps {
		for _, g := range p.Grad {
			square += float64(g) * float64(g)
		}
	}
	if n := math.Sqrt(square); c.ClipNorm > 0 && n > c.ClipNorm {
		clip = c.ClipNorm / (n + 1e-6)
	}
	rate := c.Rate * c.Schedule.Factor(step)
	for i, p := range r.ps {
		lr, decay := rate, c.WeightDecay
		if len(c.Groups) > 0 && strings.HasPrefix(p.Name, "conv1") {
			lr *= 0.1
		}
		if len(c.Groups) > 0 && p.Name == "fc.bias" {
			decay = 0
		}
		for j := range p.Grad {
			w, m, v, g := &r.w[i][j], &r.m[i][j], &r.v[i][j], clip*float64(p.Grad[j])
			if c.Method == train.AdamW {
				*w -= lr * decay * *w
			} else {
				g += decay * *w
			}
			if c.Method == train.SGD {
				*m = c.Momentum**m + g
				if c.Nesterov {
					g += c.Momentum * *m
				} else {
					g = *m
				}
				*w -= lr * g
				continue
			}
			*m = c.Beta1**m + (1-c.Beta1)*g
			*v = c.Beta2**v + (1-c.Beta2)*g*g
			mh := *m / (1 - math.Pow(c.Beta1, float64(step+1)))
			vh := *v / (1 - math.Pow(c.Beta2, float64(step+1)))
			*w -= lr * mh / (math.Sqrt(vh) + c.Eps)
		}
	}
}

func TestSchedules(t *testing.T) {
	cases := []struct {
		name string
		s    train.RateSchedule
		want map[int]float64
	}{
		{"constant", train.RateSchedule{}, map[int]float64{0: 1, 1000: 1}},
		{"warm-up", train.RateSchedule{Warmup: 4}, map[int]float64{0: 0.25, 1: 0.5, 3: 1, 4: 1}},
		{"every", train.RateSchedule{Kind: train.StepDown, Every: 10}, map[int]float64{9: 1, 10: 0.1, 25: 0.01}},
		{"milestones", train.RateSchedule{Kind: train.StepDown, Milestones: []int{20, 30}, Gamma: 0.5, Warmup: 2},
			map[int]float64{0: 0.5, 21: 1, 22: 0.5, 32: 0.25}},
		{"cosine", train.RateSchedule{Kind: train.CosineRate, Total: 100, Floor: 0.2},
			map[int]float64{0: 1, 50: 0.6, 100: 0.2, 500: 0.2}},
		{"cosine after warm-up", train.RateSchedule{Kind: train.CosineRate, Total: 110, Warmup: 10},
			map[int]float64{0: 0.1, 10: 1, 60: 0.5, 110: 0}},
	}
	for _, c := range cases {
		for step, want := range c.want {
			if got := c.s.Factor(step); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: factor %v at step %d, want %v", c.name, got, step, want)
			}
		}
	}
}

// TestResume holds that a saved state continues to the same bits.
func TestResume(t *testing.T) {
	for name, c := range map[string]train.OptimizerConfig{
		"adam": {WeightDecay: 0.1, Schedule: train.RateSchedule{Kind: train.CosineRate, Total: 9}},
		"sgd":  {Method: train.SGD, Momentum: 0.9},
		"bare": {Method: train.SGD},
	} {
		a, b := params(1, 7, 3), params(1, 7, 3)
		first, whole := make1(t, c, a), make1(t, c, b)
		var second *train.Optimizer
		for step := range 6 {
			if step == 3 {
				var file bytes.Buffer
				if err := first.State().Write(&file); err != nil {
					t.Fatal(err)
				}
				state, err := safetensors.Parse(file.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				second = make1(t, c, a)
				if err := second.SetState(state); err != nil {
					t.Fatal(err)
				}
				first = second
			}
			gradients(a, uint64(step))
			gradients(b, uint64(step))
			first.Step()
			whole.Step()
		}
		for i := range a {
			if !slices.Equal(a[i].Value, b[i].Value) {
				t.Errorf("%s: %s differs after resuming", name, a[i].Name)
			}
		}
		if second.Steps() != 6 || second.Rate() != whole.Rate() {
			t.Errorf("%s: %d steps, rate %v against %v", name, second.Steps(), second.Rate(), whole.Rate())
		}
	}
}

func TestSetStateRejects(t *testing.T) {
	adam := func() *train.Optimizer { return make1(t, train.OptimizerConfig{}, params(1, 4)) }
	cases := map[string]struct {
		change func(*safetensors.File)
		want   string
	}{
		"method":  {func(f *safetensors.File) { f.Meta["optimizer"] = "sgd" }, `saved by "sgd"`},
		"no step": {func(f *safetensors.File) { f.Tensors = f.Tensors[1:] }, "step count"},
		"missing": {func(f *safetensors.File) { f.Tensors = f.Tensors[:2] }, "conv1.weight.v is missing"},
		"size": {func(f *safetensors.File) {
			*f.Tensor("conv1.weight.m") = safetensors.Float32("conv1.weight.m", []int{1}, []float32{1})
		}, "1 values, not 4"},
		"other net": {func(f *safetensors.File) {
			f.Tensors = append(f.Tensors,
				safetensors.Float32("x", nil, []float32{1}))
		}, "4 tensors, 3 of them"},
		"negative": {func(f *safetensors.File) { *f.Tensor("step") = safetensors.Int64("step", nil, []int64{-1}) },
			"[-1]"},
	}
	for name, c := range cases {
		f := adam().State()
		c.change(f)
		if err := adam().SetState(f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	nan := math.NaN()
	for want, c := range map[string]train.OptimizerConfig{
		`unknown method "lion"`: {Method: "lion"},
		"rate = -1":             {Rate: -1},
		"beta2 = 1":             {Beta2: 1},
		"momentum = NaN":        {Method: train.SGD, Momentum: nan},
		"clip_norm = -2":        {ClipNorm: -2},
		"nesterov":              {Nesterov: true},
		`group "fc2"`:           {Groups: []train.ParamGroup{{Prefix: "fc2", Scale: 1}}},
		"scale of group conv1":  {Groups: []train.ParamGroup{{Prefix: "conv1", Scale: -1}}},
		`unknown kind "zigzag"`: {Schedule: train.RateSchedule{Kind: "zigzag"}},
		"cosine over 5 steps":   {Schedule: train.RateSchedule{Kind: train.CosineRate, Total: 5, Warmup: 5}},
		"step needs milestones": {Schedule: train.RateSchedule{Kind: train.StepDown}},
		"warmup = -1":           {Schedule: train.RateSchedule{Warmup: -1}},
		"must not be negative":  {Schedule: train.RateSchedule{Gamma: -1}},
	} {
		if _, err := train.NewOptimizer(c, params(1, 3)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestNotFinite holds that a bad gradient changes nothing and shows in the norm.
func TestNotFinite(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		ps := params(1, 9, 40000)
		before := slices.Clone(ps[1].Value)
		gradients(ps, 1)
		ps[1].Grad[33333] = bad
		o := make1(t, train.OptimizerConfig{ClipNorm: 1}, ps)
		if n := o.Step().GradNorm; !math.IsNaN(n) && !math.IsInf(n, 0) {
			t.Errorf("norm %v of a gradient with %v", n, bad)
		}
		if !slices.Equal(before, ps[1].Value) || o.Steps() != 0 {
			t.Errorf("%v was taken as a step", bad)
		}
	}
}

func TestFrozen(t *testing.T) {
	ps := params(1, 4, 4)
	ps[0].Frozen = true
	ps[1].Buffer = true
	gradients(ps, 1)
	a, b := slices.Clone(ps[0].Value), slices.Clone(ps[1].Value)
	make1(t, train.OptimizerConfig{Groups: []train.ParamGroup{{Prefix: "conv1", Scale: 2}}}, ps).Step()
	if !slices.Equal(a, ps[0].Value) || !slices.Equal(b, ps[1].Value) {
		t.Error("a frozen parameter or a running statistic moved")
	}
}

func TestSameBitsOnAnyNumberOfCores(t *testing.T) {
	run := func() []float32 {
		ps := params(1, 100000, 33)
		o := make1(t, train.OptimizerConfig{ClipNorm: 0.1}, ps)
		gradients(ps, 1)
		o.Step()
		return ps[0].Value
	}
	want := run()
	old := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(old)
	if !slices.Equal(want, run()) {
		t.Error("another result on one core")
	}
}

// TestNamesAsText: methods and schedules read what they write, and refuse others.
func TestNamesAsText(t *testing.T) {
	type names struct {
		Method   train.OptimizerMethod
		Schedule train.RateScheduleKind
	}
	for _, in := range []names{{}, {train.Adam, train.ConstantRate}, {train.AdamW, train.StepDown},
		{train.SGD, train.CosineRate}} {
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out names
		if err := json.Unmarshal(text, &out); err != nil || out != in {
			t.Errorf("%s came back as %+v: %v", text, out, err)
		}
	}
	for text, want := range map[string]string{
		`{"Method": "adamm"}`:    `unknown method "adamm" (did you mean "adam"?); there are adam, adamw, sgd`,
		`{"Schedule": "cosins"}`: `did you mean "cosine"?`,
	} {
		var n names
		if err := json.Unmarshal([]byte(text), &n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %s", text, err, want)
		}
	}
	if _, err := json.Marshal(names{Method: "lion"}); err == nil {
		t.Error("an unknown method was written")
	}
}
