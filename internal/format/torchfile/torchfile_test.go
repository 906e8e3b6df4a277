package torchfile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn/safetensors"
)

// want is what testdata/gen.py saved, in its order.
func want() map[string][]float32 {
	return map[string][]float32{
		"conv1.weight": {0, 1. / 8, 2. / 8, 3. / 8, 4. / 8, 5. / 8, 6. / 8, 7. / 8, 1, 9. / 8, 10. / 8, 11. / 8,
			12. / 8, 13. / 8, 14. / 8, 15. / 8, 2, 17. / 8, 18. / 8, 19. / 8, 20. / 8, 21. / 8, 22. / 8, 23. / 8},
		"transposed": {0, 3, 1, 4, 2, 5},
		"view":       {8, 9, 10, 11, 12, 13, 14, 15},
		"half":       {1, -0.5},
		"bfloat16":   {3},
		"double":     {0.25},
		"empty":      {},
		"scalar":     {2.5},
	}
}

func TestRead(t *testing.T) {
	for _, name := range []string{"state.pth", "checkpoint.pth", "teacher.pth", "parameters.pth", "legacy.pth"} {
		f, err := Read(filepath.Join("testdata", name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for name, v := range want() {
			u := f.Tensor(name)
			if u == nil {
				t.Errorf("%s is missing", name)
				continue
			}
			got, err := u.Float32s()
			if err != nil || fmt.Sprint(got) != fmt.Sprint(v) {
				t.Errorf("%s: %v, %v; want %v", name, got, err, v)
			}
		}
		if u := f.Tensor("transposed"); fmt.Sprint(u.Shape) != "[3 2]" {
			t.Errorf("shape %v of a transposed 2 x 3 tensor", u.Shape)
		}
		if f.Tensors[0].Name != "conv1.weight" {
			t.Errorf("order lost: first is %s", f.Tensors[0].Name)
		}
		if name == "parameters.pth" {
			continue
		}
		if n, err := f.Tensor("bn1.num_batches_tracked").Int64s(); err != nil || n[0] != 7 {
			t.Errorf("counter %v, %v", n, err)
		}
	}
}

func TestReadWeights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.bin")
	var b bytes.Buffer
	f := safetensors.File{Tensors: []safetensors.Tensor{safetensors.Float32("a", []int{1}, []float32{3})}}
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, name := range map[string]string{path: "a", "testdata/state.pth": "conv1.weight",
		"testdata/legacy.pth": "conv1.weight"} {
		g, err := ReadWeights(path)
		if err != nil || g.Tensor(name) == nil {
			t.Errorf("%s: %v, %v", path, g, err)
		}
	}
	for _, path := range []string{"testdata/gen.py", filepath.Join(t.TempDir(), "none")} {
		if _, err := ReadWeights(path); err == nil || !strings.Contains(err.Error(), path) &&
			!strings.Contains(err.Error(), "none") {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

// archived makes a file with the given pickle and storages.
func archived(t testing.TB, program string, storages map[string]string, more ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	put := func(name, content string) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: "x/" + name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, content)
	}
	put("data.pkl", program)
	for _, name := range more {
		put(name, "")
	}
	for k, v := range storages {
		put("data/"+k, v)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tensorProgram pickles {"a": a float tensor of one dimension} by hand.
func tensorProgram(count, offset, size, stride int) string {
	num := func(n int) string { return "J" + string([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}) }
	str := func(s string) string { return "X" + string([]byte{byte(len(s)), 0, 0, 0}) + s }
	return "\x80\x02}" + str("a") + "ctorch._utils\n_rebuild_tensor_v2\n((" + str("storage") +
		"ctorch\nFloatStorage\n" +
		str("0") + str("cpu") + num(count) + "tQ" + num(offset) + num(size) + "\x85" + num(stride) + "\x85\x89}tRs."
}

func TestRejects(t *testing.T) {
	eight := map[string]string{"0": "\x00\x00\x80\x3f\x00\x00\x00\x40"}
	open := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	state := open("state.pth")
	cases := []struct {
		name, want string
		data       []byte
	}{
		{"empty", "not a file of torch.save", nil},
		{"own class", "class __main__.Net", archived(t, "c__main__\nNet\n)\x81.", nil)},
		{"module", "class torch.nn.modules.linear.Linear", open("module.pth")},
		{"one tensor", "one tensor", open("tensor.pth")},
		{"no tensors", "no tensors", open("numbers.pth")},
		{"truncated", "", state[:len(state)/2]},
		{"runs a program", "os.system", archived(t, "cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", nil)},
		{"eval", "builtins.eval", archived(t, "\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R.", nil)},
		{"instruction", "not one that tensors need", archived(t, "i__main__\nx\n.", nil)},
		{"huge text", "truncated", archived(t, "\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.", nil)},
		{"huge frame", "beyond the end", archived(t, "\x80\x04\x95\xff\xff\xff\xff\xff\xff\x00\x00.", nil)},
		{"no end", "no end", archived(t, "}", nil)},
		{"bytes as key", "malformed", archived(t, "ccollections\nOrderedDict\n)RC\x01aNs.", nil)},
		{"stack underflow", "malformed", archived(t, "R.", nil)},
		{"missing storage", "no */data/0", archived(t, tensorProgram(2, 0, 2, 1), nil)},
		{"short storage", "8 bytes", archived(t, tensorProgram(3, 0, 3, 1), eight)},
		{"beyond storage", "beyond", archived(t, tensorProgram(2, 1, 2, 1), eight)},
		{"offset", "beyond", archived(t, tensorProgram(2, 9, 1, 1), eight)},
		{"negative offset", "beyond", archived(t, tensorProgram(2, -1, 1, 1), eight)},
		{"negative stride", "stride", archived(t, tensorProgram(2, 1, 2, -1), eight)},
		{"negative size", "impossible", archived(t, tensorProgram(2, 0, -2, 1), eight)},
		{"negative count", "-2 values", archived(t, tensorProgram(-2, 0, 1, 1), eight)},
		{"expanded", "more values", archived(t, tensorProgram(2, 0, 1<<30, 0), eight)},
	}
	for _, c := range cases {
		f, err := Parse(bytes.NewReader(c.data), int64(len(c.data)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, error %v; want one with %q", c.name, f, err, c.want)
		}
	}
	good := archived(t, tensorProgram(2, 0, 2, 1), eight)
	f, err := Parse(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := f.Tensor("a").Float32s(); fmt.Sprint(v) != "[1 2]" {
		t.Errorf("hand-made tensor reads %v", v)
	}
}

// TestCompressed holds that entries that unpack to more than the file are
// refused before memory is taken.
func TestCompressed(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("x/data.pkl") // deflated
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, strings.Repeat("}", 1<<20))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(bytes.NewReader(b.Bytes()), int64(b.Len())); err == nil ||
		!strings.Contains(err.Error(), "compressed") {
		t.Errorf("error %v", err)
	}
}

// The format before PyTorch 1.6: every way in which its parts can disagree.
func TestLegacyRejects(t *testing.T) {
	whole, err := os.ReadFile("testdata/legacy.pth")
	if err != nil {
		t.Fatal(err)
	}
	machine := "\x80\x02}X\x0d\x00\x00\x00little_endian\x88s."
	one := strings.Replace(tensorProgram(2, 0, 2, 1), "tQ", "NtQ", 1) // with a view: None
	keys := "\x80\x02]X\x01\x00\x00\x000a."
	two := "\x02\x00\x00\x00\x00\x00\x00\x00"
	file := func(parts ...string) []byte {
		return []byte("\x80\x02" + legacyMagic + "\x80\x02M\xe9\x03." + strings.Join(parts, ""))
	}
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"truncated values", "", whole[:len(whole)-9]},
		{"truncated pickle", "", whole[:200]},
		{"big-endian", "not little-endian",
			file(strings.Replace(machine, "\x88", "\x89", 1), one, keys, two, "12345678")},
		{"no keys", "no list of storages", file(machine, one, "\x80\x02N.", two, "12345678")},
		{"another key", `storage "1" is listed twice, or belongs to no tensor`,
			file(machine, one, "\x80\x02]X\x01\x00\x00\x001a.", two, "12345678")},
		{"missing key", `no storage "0"`, file(machine, one, "\x80\x02].", two, "12345678")},
		{"another count", "holds 3 values and is described as one of 2",
			file(machine, one, keys, "\x03"+two[1:], "12345678")},
		{"count beyond the end", "beyond the end",
			file(machine, strings.ReplaceAll(one, "J\x02", "J\x03"), keys, "\x03"+two[1:], "12345678")},
		{"a view", "a persistent id that is not a storage",
			file(machine, strings.Replace(one, "NtQ", "K\x01tQ", 1), keys, two, "12345678")},
		{"a class", "os.system", file(machine, "cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", keys)},
	} {
		f, err := Parse(bytes.NewReader(c.data), int64(len(c.data)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, error %v; want one with %q", c.name, f, err, c.want)
		}
	}
	good := file(machine, one, keys, two, "\x00\x00\x80\x3f\x00\x00\x00\x40")
	f, err := Parse(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := f.Tensor("a").Float32s(); fmt.Sprint(v) != "[1 2]" {
		t.Errorf("hand-made tensor reads %v", v)
	}
	// Pickles longer than the first look at the file.
	long := file(machine, strings.Replace(one, "}X", "}X\x03\x00\x00\x00padX\xff\xff\x01\x00"+
		strings.Repeat("x", 0x1ffff)+"sX", 1), keys, two, "\x00\x00\x80\x3f\x00\x00\x00\x40")
	if _, err := Parse(bytes.NewReader(long), int64(len(long))); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	if legacy, err := os.ReadFile("testdata/legacy.pth"); err == nil {
		f.Add(legacy)
	}
	f.Add(archived(f, tensorProgram(2, 0, 2, 1), map[string]string{"0": "12345678"}))
	f.Add(archived(f, "\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00}N..", nil))
	f.Add(archived(f, "ccollections\nOrderedDict\n)RC\x01aNs.", nil))
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data) })
}

// FuzzPickle changes the pickle alone, which the archive's checksums would
// otherwise protect.
func FuzzPickle(f *testing.F) {
	f.Add(tensorProgram(2, 0, 2, 1))
	f.Add("\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00}N..")
	f.Add("ccollections\nOrderedDict\n)RC\x01aNs.")
	f.Add("\x80\x02}q\x00(K\x01K\x02M\x03\x04G12345678\x8a\x01\x07u.")
	f.Fuzz(func(t *testing.T, program string) {
		check(t, archived(t, program, map[string]string{"0": "12345678"}))
	})
}

func check(t *testing.T, data []byte) {
	p, err := Parse(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return
	}
	for _, u := range p.Tensors {
		n, err := safetensors.ShapeSize(u.Shape)
		if err != nil || n*u.DType.Size() != len(u.Data) {
			t.Fatalf("%q: %d bytes for shape %v of %s", u.Name, len(u.Data), u.Shape, u.DType)
		}
	}
}
