package embedding

import (
	"archive/zip"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn/safetensors"
)

// Labels that are floating-point numbers are an error that names the column, whatever else a file
// holds; other columns of floats are passed over.
func TestFloatLabels(t *testing.T) {
	x := npy("'<f4'", "False", "(2, 1)", make([]byte, 8))
	f8 := npy("'<f8'", "False", "(2,)", make([]byte, 16))
	i8 := npy("'<i8'", "False", "(2,)", append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 8)...))
	tensors := func(label string) []byte {
		var b strings.Builder
		f := safetensors.File{Tensors: []safetensors.Tensor{safetensors.Float32("x", []int{2, 1}, []float32{1, 2}),
			safetensors.Float32(label, []int{2}, []float32{1, 2})}}
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		return []byte(b.String())
	}
	for _, c := range []struct {
		name    string
		file    []byte
		columns []string
		want    string
	}{
		{"E.npz", npzOf(t, zip.Store, entry{"x.npy", x}, entry{"label.npy", f8}), nil, "the column label holds "},
		{"E.npz", npzOf(t, zip.Store, entry{"x.npy", x}, entry{"y.npy", f8}), nil, "the column y holds floating-point"},
		{"E.npz", npzOf(t, zip.Store, entry{"x.npy", x}, entry{"label.npy", f8}, entry{"fold.npy", i8}), nil,
			"the column label holds floating-point numbers: labels must be integers or text"},
		{"E.npz", npzOf(t, zip.Store, entry{"x.npy", x}, entry{"price.npy", f8}, entry{"label.npy", i8}), nil, ""},
		{"E.npz", npzOf(t, zip.Store, entry{"x.npy", x}, entry{"price.npy", f8}, entry{"label.npy", i8}),
			[]string{"price"}, "the column price holds floating-point numbers"},
		{"E.npz", npzOf(t, zip.Store, entry{"x.npy", x}, entry{"price.npy", f8}), nil, "holds no labels"},
		{"E.npz", npzOf(t, zip.Store, entry{"x.npy", x}, entry{"y.npy", f8}, entry{"class.npy", i8}), nil, ""},
		{"E.safetensors", tensors("labels"), nil, "the column labels holds floating-point numbers"},
	} {
		_, err := Load(write(t, c.name, c.file), "", c.columns)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), c.name)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Text files of other programs.
func TestTextForms(t *testing.T) {
	for text, want := range map[string]string{
		"path\tlabel\tembedding_0\na,b\tx\t1\nc\ty\t2\n":         "",
		"path,label,embedding_0\ra,x,1\rc,y,2\r":                 "",
		"\ufeffpath;label;embedding_0\r\na;x;1\r\nc;y;2\r\n":     "",
		"\xff\xfep\x00a\x00t\x00h\x00,\x00l\x00\n\x00a\x00,\x00": "E.csv: the text is in UTF-16: save it in UTF-8",
	} {
		table, err := Read(write(t, "E.csv", []byte(text)))
		switch {
		case want != "":
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", text, err)
			}
		case err != nil || table.Rows() != 2 || table.X.At(1, 0) != 2 || table.Columns[0].At(1) != "y":
			t.Errorf("%q: %+v %v", text, table, err)
		}
	}
}
