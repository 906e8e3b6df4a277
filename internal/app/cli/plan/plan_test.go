package plan

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func isNear(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

func constantOf(v float64) Constant { return Constant{Value: v} }

// TestByHand: round constants, computed on paper. 2^20 vectors of 256 numbers of which
// the engine keeps 8 and 4 bytes, with 52 and 100 beside them.
func TestByHand(t *testing.T) {
	e := engine{measuredAt: 1 << 10, diskRow: constantOf(52), diskValue: 8, memoryRow: constantOf(100), memoryValue: 4,
		alone: constantOf(1e-3), many: constantOf(0.5e-3), fill: constantOf(2e-3)}
	l := Load{Vectors: 1 << 20, Dim: 256, Queries: 6000}
	m := Machine{Cores: 2, Memory: 1 << 28} // of which 201,326,592 bytes are planned for
	a := e.answer(l, m)
	// 1,048,576 * 2,100 and * 1,124 bytes; the latter is 5.85 machines. Each has 174,762.67
	// vectors, 2^17.41500.
	walk := (20 - math.Log2(6)) / 10 * 2
	for _, v := range []struct {
		name       string
		have, want float64
	}{{"disk", a.Disk, 2_202_009_600}, {"memory", a.Memory, 1_178_599_424}, {"by memory", a.ByMemory, 6},
		{"search", a.Search, 1e-3 * walk}, {"fill", a.Fill, 2e-3 * walk * (1 << 20)},
		// 6,000 searches of 6 walks of 1.7415 ms are 62.69 s a second, by 1.5 cores: 41.8 machines
		{"by queries", a.ByQueries, 42}, {"machines", a.Machines, 42}} {
		if !isNear(v.have, v.want) {
			t.Errorf("%s: %v, want %v", v.name, v.have, v.want)
		}
	}

	e.exact = true
	a = e.answer(l, m)
	// A search is 1,024 times as many vectors of twice the numbers: 1.024 s among others,
	// 4,096 machines; alone 2.048 s of their 8,192 cores.
	for _, v := range []struct {
		name       string
		have, want float64
	}{{"by queries", a.ByQueries, 4_096_000 / 1000}, {"search", a.Search, 2.048 / 8192},
		{"fill", a.Fill, 4e-3 * (1 << 20)}} {
		if !isNear(v.have, v.want) {
			t.Errorf("exact, %s: %v, want %v", v.name, v.have, v.want)
		}
	}
}

func TestEmbedding(t *testing.T) {
	r, err := Compute(Load{Dim: 1, Images: 1000, ImageBytes: 4670, Network: "resnet50-224"},
		Machine{Cores: 2, Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	e := r.Embedding // 0.05925 s and 0.27 ms an image
	if !isNear(e.Compute, 59.25) || !isNear(e.Decode, 0.27) || !isNear(e.Hours, 59.52/7200) || e.Bytes != 4_670_000 ||
		!isNear(e.Stream, 4_670_000/(95*1048576.0)) {
		t.Errorf("%+v", e)
	}
}

// TestMonotone: more of anything never needs less.
func TestMonotone(t *testing.T) {
	m := Machine{Cores: 8, Memory: 64 << 30}
	base := Load{Vectors: 1e4, Dim: 64, Queries: 1, Images: 10, ImageBytes: 1000, Network: Networks()[0]}
	for name, more := range map[string]func(l *Load){
		"vectors": func(l *Load) { l.Vectors *= 3 }, "dim": func(l *Load) { l.Dim *= 2 },
		"queries": func(l *Load) { l.Queries *= 4 }, "images": func(l *Load) { l.Images *= 5 },
		"bytes": func(l *Load) { l.ImageBytes *= 2 },
	} {
		l, last := base, (*Report)(nil)
		for range 9 {
			r, err := Compute(l, m)
			if err != nil {
				t.Fatal(err)
			}
			for i := range r.Engines {
				if last == nil {
					break
				}
				a, b := last.Engines[i], r.Engines[i]
				if b.Disk < a.Disk || b.Memory < a.Memory || b.Machines < a.Machines || b.Fill < a.Fill*0.999 {
					t.Errorf("%s: %+v needs less than %+v", name, b, a)
				}
			}
			if last != nil && (r.Embedding.Hours < last.Embedding.Hours || r.Embedding.Stream < last.Embedding.Stream) {
				t.Errorf("%s: %+v needs less than %+v", name, r.Embedding, last.Embedding)
			}
			last = r
			more(&l)
		}
	}
}

// TestCareless: what makes no sense is named, and what is merely extreme has finite answers.
func TestCareless(t *testing.T) {
	good := Load{Vectors: 1, Dim: 1, Queries: 1, Images: 1, ImageBytes: 1, Network: Networks()[0]}
	m := Machine{Cores: 1, Memory: 1 << 30}
	for want, spoil := range map[string]func(l *Load, m *Machine){
		"vectors -1":              func(l *Load, _ *Machine) { l.Vectors = -1 },
		"vectors NaN":             func(l *Load, _ *Machine) { l.Vectors = math.NaN() },
		"queries +Inf":            func(l *Load, _ *Machine) { l.Queries = math.Inf(1) },
		"images 1e+300":           func(l *Load, _ *Machine) { l.Images = 1e300 },
		"image-bytes -5":          func(l *Load, _ *Machine) { l.ImageBytes = -5 },
		"dim 0":                   func(l *Load, _ *Machine) { l.Dim = 0 },
		"dim 65537":               func(l *Load, _ *Machine) { l.Dim = 65537 },
		`network "x"`:             func(l *Load, _ *Machine) { l.Network = "x" },
		"cores 0":                 func(_ *Load, m *Machine) { m.Cores = 0 },
		"memory-of-a-machine NaN": func(_ *Load, m *Machine) { m.Memory = math.NaN() },
		"memory-of-a-machine 1 ":  func(_ *Load, m *Machine) { m.Memory = 1 },
	} {
		l, n := good, m
		spoil(&l, &n)
		if _, err := Compute(l, n); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, l := range []Load{{Dim: 1, Network: Networks()[0]}, good,
		{Vectors: maxCount, Dim: maxDim, Queries: maxCount, Images: maxCount, ImageBytes: maxCount,
			Network: Networks()[0]}} {
		r, err := Compute(l, m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(r); err != nil { // which has no infinities
			t.Error(err)
		}
		if a := r.Engines[0]; l.Vectors == 0 && (a.Machines != 0 || a.Disk != 0 || a.Fill != 0) {
			t.Errorf("nothing needs %+v", a)
		}
	}
}

// TestConstantsAreTold: every constant says what it is and where it is from, and the
// formulas go within a factor of 3.5 of what was measured: among 64, a search
// of a small folder costs more than its rows.
func TestConstantsAreTold(t *testing.T) {
	r, err := Compute(Load{Dim: 1, Network: Networks()[0]}, Machine{Cores: 1, Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range append(r.Constants, networks()...) {
		if k.Name == "" || !(k.Value > 0) || k.Unit == "" || k.Command == "" || k.Machine == "" {
			t.Errorf("%+v", k)
		}
	}
	for _, p := range r.Points {
		if f := p.Formula / p.Measured; !(f > 1/3.5 && f < 3.5) {
			t.Errorf("%+v: the formula is %.2f times what was measured", p, f)
		}
	}
}
