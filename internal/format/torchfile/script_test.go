package torchfile

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTorchScript: the tensors of a program's modules have the names of its state
// dict, whether it was scripted or traced.
func TestTorchScript(t *testing.T) {
	for _, path := range []string{"testdata/scripted.pt", "testdata/traced.pt"} {
		f, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string][]float32{
			"visual.0.weight": {0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75}, "visual.0.bias": {0, 0.25},
			"visual.1.weight": {0, 0.25}, "visual.1.running_var": {1, 1}, "scale": {2.5},
			"inner.proj": {0, 0.125, 0.25, 0.375, 0.5, 0.625}, "inner.view": {0, 3, 1, 4, 2, 5},
		} {
			u := f.Tensor(name)
			if u == nil {
				t.Errorf("%s: no %s", path, name)
				continue
			}
			if got, err := u.Float32s(); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %s is %v, %v; want %v", path, name, got, err, want)
			}
		}
		if u := f.Tensor("inner.proj"); u != nil && u.DType != "F16" {
			t.Errorf("%s: inner.proj of %s", path, u.DType)
		}
	}
}

// scripted is an archive of a program with the given pickle.
func scripted(t testing.TB, program string) []byte {
	return archived(t, program, map[string]string{"0": "12345678"}, "constants.pkl")
}

// TestHostileScript: modules that hold themselves or each other again and again,
// and states that are none, are errors.
func TestHostileScript(t *testing.T) {
	object := "c__torch__\nM\n)\x81"
	doubling := object + "}X\x01\x00\x00\x00xK\x01sbq\x01"
	for i := range 60 { // each holds the one before it twice
		doubling += fmt.Sprintf("0%s}(X\x01\x00\x00\x00ah%cX\x01\x00\x00\x00bh%cubq%c", object, i+1, i+1, i+2)
	}
	deep := object
	for range 200 {
		deep = object + "}X\x01\x00\x00\x00a" + deep + "sb"
	}
	for want, program := range map[string]string{
		"modules hold":      object + "q\x00}X\x01\x00\x00\x00ah\x00sb.",
		"hold each other":   doubling + ".",
		"nested more":       deep + ".",
		"whose attributes":  object + "K\x01b.",
		"no tensors":        object + "}b.",
		"class os.system":   "cos\nsystem\n)\x81.",
		"a mark on nothing": "ctorch.jit._pickle\nbuild_intlist\n)R.",
	} {
		data := scripted(t, program)
		_, err := Parse(bytes.NewReader(data), int64(len(data)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func FuzzScript(f *testing.F) {
	object := "c__torch__\nM\n)\x81"
	f.Add(object + "q\x00}X\x01\x00\x00\x00ah\x00sb.")
	f.Add(object + "}X\x01\x00\x00\x00a" + object + "}bsb.")
	if data, err := os.ReadFile("testdata/scripted.pt"); err == nil {
		if i := bytes.Index(data, []byte("\x80\x02c__torch__")); i >= 0 {
			f.Add(string(data[i:min(len(data), i+1400)]))
		}
	}
	f.Fuzz(func(t *testing.T, program string) { check(t, scripted(t, program)) })
}
