package loss

import (
	"math"
	"math/rand/v2"
	"testing"
)

// newSet runs a loss on one anchor.
func newSet(l Sets, pos, neg []float32) *Set {
	s := &Set{Pos: pos, Neg: neg, DPos: make([]float32, len(pos)), DNeg: make([]float32, len(neg))}
	l.Set(s)
	return s
}

// checkSameSet compares value and derivatives, which are in single precision.
func checkSameSet(t *testing.T, what string, got, want *Set) {
	t.Helper()
	if !(math.Abs(got.Value-want.Value) <= 1e-9*(1+want.Value)) || got.Terms != want.Terms {
		t.Errorf("%s: %v of %d terms, want %v of %d", what, got.Value, got.Terms, want.Value, want.Terms)
	}
	for side, d := range map[string][2][]float32{"positive": {got.DPos, want.DPos}, "negative": {got.DNeg, want.DNeg}} {
		for k, w := range d[1] {
			if !(math.Abs(float64(d[0][k]-w)) <= 1e-5) {
				t.Errorf("%s: derivative of %s %d is %v, want %v", what, side, k, d[0][k], w)
			}
		}
	}
}

func similarities(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for k := range x {
		x[k] = 2*rng.Float32() - 1
	}
	return x
}

// With a large T_s all positives count alike, and the loss is SupCon.
func TestMaskConOfLargeSoftIsSupCon(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range [][2]int{{1, 0}, {1, 1}, {5, 0}, {2, 9}, {40, 7}, {6000, 9000}} {
		pos, neg := similarities(rng, n[0]), similarities(rng, n[1])
		for _, temperature := range []float64{0.02, 0.1, 3} {
			want := newSet(SupCon{Temperature: &temperature}, pos, neg)
			for _, soft := range []float64{1e10, math.MaxFloat64} {
				checkSameSet(t, "large soft", newSet(MaskCon{Temperature: &temperature, Soft: &soft}, pos, neg), want)
			}
			// A T_s that is not large tells positives apart.
			soft := newSet(MaskCon{Temperature: &temperature}, pos, neg)
			if n[0] > 1 && !(soft.Value < want.Value) {
				t.Errorf("%v: MaskCon is %v, SupCon %v: near positives must count more", n, soft.Value, want.Value)
			}
		}
	}
}

// With a small T_s the nearest positive is the only one, and the others are in the sum as negatives
// are, whatever the size of similarities. Equal ones share.
func TestMaskConOfSmallSoftHasOnePositive(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, soft := range []float64{1e-9, 1e-300, math.SmallestNonzeroFloat64} {
		for _, size := range []float32{1, 30, 1e12} {
			pos, neg := similarities(rng, 6), similarities(rng, 8)
			pos[3] = 1.5
			for k := range pos {
				pos[k] *= size
			}
			l := MaskCon{Temperature: new(0.1 * float64(size)), Soft: &soft}
			got := newSet(l, pos, neg)
			others := append(append([]float32{}, pos[:3]...), pos[4:]...)
			want := newSet(l, pos[3:4], append(others, neg...))
			moved := &Set{Value: want.Value, Terms: 1, DNeg: want.DNeg[5:]}
			moved.DPos = append(append(append(moved.DPos, want.DNeg[:3]...), want.DPos[0]), want.DNeg[3:5]...)
			checkSameSet(t, "small soft", got, moved)

			pos[0] = pos[3]
			if tie := newSet(l, pos, neg); tie.DPos[0] != tie.DPos[3] || !(tie.DPos[0] < 0) {
				t.Errorf("two nearest positives have the derivatives %v and %v", tie.DPos[0], tie.DPos[3])
			}
		}
	}
}

// An anchor without a positive has no term. One positive without a negative leaves nothing to do, and neither do
// positives that are all the same.
func TestMaskConOfLittle(t *testing.T) {
	for name, c := range map[string]struct {
		pos, neg []float32
		terms    int
		value    float64
	}{
		"nothing":                 {nil, nil, 0, 0},
		"no positive":             {nil, []float32{0.3}, 0, 0},
		"one positive alone":      {[]float32{0.3}, nil, 1, 0},
		"copies of one positive":  {[]float32{1, 1, 1}, nil, 1, math.Log(3)},
		"a negative level with p": {[]float32{0.5}, []float32{0.5}, 1, math.Log(2)},
	} {
		s := newSet(MaskCon{}, c.pos, c.neg)
		if s.Terms != c.terms || math.Abs(s.Value-c.value) > 1e-12 {
			t.Errorf("%s: %v of %d terms, want %v of %d", name, s.Value, s.Terms, c.value, c.terms)
		}
		var sum, size float64
		for _, d := range append(s.DPos, s.DNeg...) {
			sum, size = sum+float64(d), size+math.Abs(float64(d))
		}
		if math.Abs(sum) > 1e-6 || (len(c.pos) == 0 || len(c.neg) == 0) && size > 1e-6 {
			t.Errorf("%s: derivatives %v and %v", name, s.DPos, s.DNeg)
		}
	}
}
