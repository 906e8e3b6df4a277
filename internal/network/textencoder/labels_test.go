package textencoder

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// TestLabels: labels are the mean of their templates, each of unit length.
func TestLabels(t *testing.T) {
	tower, err := Open("testdata/both") // its logit_scale is 2.6
	if err != nil {
		t.Fatal(err)
	}
	names, templates := []string{"dog", "boot", "cat"}, []string{Template, "the {}"}
	l, err := tower.Labels(t.Context(), names, templates)
	if err != nil || !l.SumToOne() {
		t.Fatal(l, err)
	}
	var rows [][]float64
	for _, name := range names {
		row := make([]float64, tower.Dim())
		for _, text := range []string{"a photo of a " + name, "the " + name} {
			x, err := tower.Embed(t.Context(), []string{text})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range x.Row(0) {
				row[i] += float64(v) / length(x.Row(0))
			}
		}
		rows = append(rows, row)
	}
	photo := make([]float32, tower.Dim())
	for i := range photo {
		photo[i] = float32((i*5)%7) - 2
	}
	want, sum := make([]float64, 3), 0.0
	for i, row := range rows {
		dot, norm := 0.0, 0.0
		for k, v := range row {
			dot += v * float64(photo[k])
			norm += v * v
		}
		want[i] = math.Exp(math.Exp(float64(float32(2.6))) * dot / math.Sqrt(norm) / length(photo))
		sum += want[i]
	}
	got, err := l.Probabilities(photo)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]/sum) > 1e-5 {
			t.Errorf("%s: %g, want %g", names[i], got[i], want[i]/sum)
		}
	}
	if _, err := l.Probabilities(make([]float32, tower.Dim())); err == nil {
		t.Error("a photo without a direction")
	}
}

func length(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// TestLogit: SigLIP gives each label a probability of its own, and says so if the weights lack what it takes.
func TestLogit(t *testing.T) {
	l := &Labels{Names: []string{"a", "b"}, rows: matrix.FromSlice(2, 2, []float32{1, 0, 0, 1}),
		logit: logit{scale: 10, bias: -4, independent: true}}
	got, err := l.Probabilities([]float32{0.6, 0.8})
	want := []float64{1 / (1 + math.Exp(-2)), 1 / (1 + math.Exp(-4))}
	if err != nil || math.Abs(got[0]-want[0]) > 1e-6 || math.Abs(got[1]-want[1]) > 1e-6 || l.SumToOne() {
		t.Errorf("%v, want %v, %v", got, want, err)
	}
	siglip, err := Open("testdata/siglip")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := siglip.Labels(t.Context(), []string{"a"}, []string{Template}); err == nil ||
		!strings.Contains(err.Error(), "no logit_scale and logit_bias") {
		t.Error(err)
	}
	one := func(name string, v ...float32) safetensors.Tensor {
		return safetensors.Float32(name, []int{len(v)}, v)
	}
	for _, c := range []struct {
		tensors []safetensors.Tensor
		each    bool
		want    logit
		wrong   string
	}{
		{nil, false, logit{scale: 100}, ""},
		{[]safetensors.Tensor{one("logit_scale", 0)}, false, logit{scale: 1, isSet: true}, ""},
		{[]safetensors.Tensor{one("logit_scale", 0)}, true, logit{scale: 1, independent: true}, ""},
		{[]safetensors.Tensor{one("logit_scale", 0), one("logit_bias", -3)}, true,
			logit{scale: 1, bias: -3, independent: true, isSet: true}, ""},
		{[]safetensors.Tensor{one("logit_scale", 200)}, false, logit{}, "logit_scale is 200"},
		{[]safetensors.Tensor{one("logit_scale", 1, 2)}, false, logit{}, "it has 2 numbers"},
		{[]safetensors.Tensor{one("logit_scale", float32(math.NaN()))}, false, logit{}, "logit_scale"},
	} {
		got, err := readLogit(&safetensors.File{Tensors: c.tensors}, c.each)
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%v, want %q", err, c.wrong)
			}
		case err != nil || got != c.want:
			t.Errorf("%+v, %v, want %+v", got, err, c.want)
		}
	}
	if !slices.Equal(l.Names, []string{"a", "b"}) {
		t.Error(l.Names)
	}
}

// TestCuts: texts longer than the tower takes are named with their numbers of tokens, and labels that are equal after
// the cut are refused.
func TestCuts(t *testing.T) {
	tower, err := Open("testdata/both")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("boot ", 40)
	notes := tower.TruncationNotes([]string{"a boot", long + "red"})
	if len(notes) != 1 || !strings.Contains(notes[0], "tokens, but the text tower takes 24") ||
		!strings.Contains(notes[0], "boot boot") {
		t.Errorf("%q", notes)
	}
	for names, want := range map[[2]string]string{
		{long + "red", long + "blue"}: "are the same text after the text tower has cut them to 24 tokens",
		{"Boot", "boot"}:              "are the same text for the text tower",
		{"red " + long, "blue"}:       "",
	} {
		l, err := tower.Labels(t.Context(), names[:], []string{Template})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", names, err, want)
		}
		if err == nil && len(l.Notes) != 1 {
			t.Errorf("%q", l.Notes)
		}
	}
}
