package soak

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/format/idx"
	"github.com/kindred-ml/kindred/internal/format/imagepack"
	"github.com/kindred-ml/kindred/internal/format/matfile"
	"github.com/kindred-ml/kindred/internal/format/rows"
	"github.com/kindred-ml/kindred/internal/format/torchfile"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/internal/parquet"
	"github.com/kindred-ml/kindred/internal/sweep"
	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
	"github.com/kindred-ml/kindred/train"
)

func formatJSON(v any) string { return fmt.Sprint(v) }

// copyFiles are the files of other packages' tests.
func copyFiles(patterns ...string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		for _, p := range patterns {
			files, err := filepath.Glob(filepath.FromSlash("../../../" + p))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %v", p, err)
			}
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err == nil && len(b) < 200_000 {
					err = os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o666)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// writeTexts are files of text, numbered.
func writeTexts(end string, all ...string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		for i, text := range all {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)+end), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// bytesReader makes a reader of bytes.
func bytesReader(read func(b []byte) error) func(dir, path string) error {
	return func(_, path string) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return read(b)
	}
}

// newReaders are the readers of files from outside.
//
// Long: a table.
func newReaders(t *testing.T) []reader {
	t.Helper()
	ctx := context.Background()
	tables := func(_, path string) error {
		table, err := embedding.Formats{parquet.Format{}}.Read(path)
		if err == nil {
			err = table.Check()
		}
		return err
	}
	dataset := func(_, path string) error {
		d, err := data.Open(ctx, path, data.OpenOptions{Unlabelled: true})
		if err != nil {
			return err
		}
		defer d.Close()
		var im imaging.Image
		for i := range d.Len() {
			_ = d.Image(ctx, i, &im, &imaging.Decoder{MaxPixels: 1 << 18}) // any result is right, as long as it returns
		}
		return nil
	}
	spec := netcases.Layers()["residual downsample"]
	text, err := spec.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return []reader{
		{name: "pictures", often: 12, alone: true, valid: copyFiles("data/imaging/testdata/formats/*",
			"internal/format/jpeg/testdata/[kp]*"), read: bytesReader(func(b []byte) error {
			var im imaging.Image
			return (&imaging.Decoder{MaxPixels: 1 << 20}).Decode(ctx, &im, b)
		})},
		{name: "PyTorch", often: 4, alone: true, valid: copyFiles("internal/format/torchfile/testdata/*.p*"),
			read: func(_, path string) error { _, err := torchfile.ReadWeights(path); return err }},
		{name: "ONNX", often: 3, alone: true, valid: copyFiles("internal/network/onnxnet/testdata/*.onnx"),
			read: func(_, path string) error { _, err := onnxnet.Read(path, onnxnet.Options{}); return err }},
		{name: "safetensors", often: 4, alone: true,
			valid: copyFiles("internal/network/onnxnet/testdata/*.safetensors"),
			read: func(_, path string) error {
				_, err := safetensors.Read(path)
				b, e := os.ReadFile(path)
				if e == nil {
					_, _ = train.ReadCheckpoint(bytes.NewReader(b))
				}
				return err
			}},
		{name: "MATLAB", often: 4, alone: true, valid: copyFiles("internal/format/matfile/testdata/*.mat"),
			read: bytesReader(func(b []byte) error { _, err := matfile.Read(b); return err })},
		{name: "idx", often: 4, alone: true, valid: writeTexts(".idx",
			"\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x0212345678",
			"\x00\x00\x08\x01\x00\x00\x00\x03abc"),
			read: func(_, path string) error { _, err := idx.ReadFile(path); return err }},
		{name: "tables", often: 10, alone: true, valid: writeTables, read: tables},
		{name: "zip", often: 4, alone: true, valid: writeZip, read: dataset},
		{name: "manifest", often: 4, valid: writeManifest, read: func(dir, _ string) error {
			return dataset(dir, filepath.Join(dir, "list.csv"))
		}},
		{name: "folder of classes", often: 2, valid: writeManifest, read: func(dir, _ string) error {
			return dataset(dir, dir)
		}},
		{name: "index", often: 6, valid: writeIndex, read: readIndex},
		{name: "packed images", often: 3, alone: true, valid: func(t *testing.T, dir string) {
			err := imagepack.Create(filepath.Join(dir, "f.pack"), imagepack.Key{1}, func(w *imagepack.Writer) error {
				return errors.Join(w.Add(make([]uint8, 48), 4, 4, 3), w.Add([]uint8{1, 2}, 2, 1, 1))
			})
			if err != nil {
				t.Fatal(err)
			}
		}, read: func(_, path string) error {
			f, err := imagepack.Open(path)
			if err != nil {
				return err
			}
			return errors.Join(f.Check(), f.Close())
		}},
		{name: "kept rows", often: 3, alone: true, valid: func(t *testing.T, dir string) {
			some := map[rows.Key][]float32{{2}: {3, 4}}
			if err := rows.Save(filepath.Join(dir, "f"), rows.Key{1}, 2, some); err != nil {
				t.Fatal(err)
			}
		}, read: func(_, path string) error { _, err := rows.Load(path, rows.Key{1}, 2); return err }},
		{name: "networks", often: 6, alone: true, valid: writeTexts(".json", string(text)),
			read: bytesReader(func(b []byte) error {
				s, err := nn.ParseSpec(b)
				if err == nil {
					_ = s.Check()
				}
				return err
			})},
		{name: "configurations", often: 6, alone: true, valid: writeTexts(".yaml",
			"data: {name: mnist, size: 32}\nnetwork: {name: resnet18, dim: 64}\nloss: {name: triplet, margin: 0.2}\n"+
				"train: {epochs: 3, lr: 1e-3}\n",
			"loss:\n  name: multisimilarity\n  alpha: 2\neval: {recall: [1, 2]}\n"),
			read: bytesReader(func(b []byte) error { _, err := run.Parse("c.yaml", b); return err })},
		{name: "plans", often: 4, alone: true, valid: writeTexts(".yaml", "set: {train.epochs: 4}\nranges:\n"+
			"  train.lr: {low: 0.0001, high: 0.1, log: true}\n  sample.per_class: {low: 2, high: 4}\narms:\n"+
			"  - {name: Triplet, set: {loss.name: triplet}}\ntrials: 4\nreduction: 2\nfolds: 2\n"),
			read: bytesReader(func(b []byte) error { _, err := sweep.ParsePlan("p.yaml", b); return err })},
		{name: "review pages", often: 2, valid: func(t *testing.T, dir string) {
			p := review.Page{Title: "t", Items: []review.Item{{Path: "a", Label: "b"}},
				Cards: []review.Card{{Items: []int{0}, Title: "c"}}}
			if err := p.WriteFiles(dir); err != nil {
				t.Fatal(err)
			}
		}, read: func(dir, _ string) error { _, err := review.Read(dir); return err }},
	}
}

// writeTables writes a table in every format.
func writeTables(t *testing.T, dir string) {
	t.Helper()
	x := matrix.New(5, 3)
	for i := range x.Data {
		x.Data[i] = float32(i) / 7
	}
	files := []string{"a/1.jpg", "a/2.jpg", "b/1.jpg", "b/2.jpg", "c, \"d\".jpg"}
	table, err := embedding.NewTable(x, files, []embedding.Column{
		embedding.NewColumn("label", []string{"u", "u", "v", "v", "w"}),
		embedding.NewColumn("n", []string{"1", "2", "3", "-4", "9007199254740993"})})
	if err != nil {
		t.Fatal(err)
	}
	formats := embedding.Formats{parquet.Format{}}
	for _, end := range formats.Extensions() {
		if end == ".npy" {
			continue
		}
		if err := formats.Write(filepath.Join(dir, "t"+end), table); err != nil {
			t.Fatalf("%s: %v", end, err)
		}
	}
	var b bytes.Buffer
	if err := embedding.WriteNPY(&b, x); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.npy"), b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// newPicture is a small PNG.
func newPicture(t *testing.T, seed int) []byte {
	t.Helper()
	im := image.NewRGBA(image.Rect(0, 0, 5+seed, 6))
	for i := range 5 + seed {
		im.Set(i, i%6, color.RGBA{byte(40 * i), byte(seed), 200, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, im); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writeZip(t *testing.T, dir string) {
	t.Helper()
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for k := range 4 {
			e, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("set/class%d/%d.png", k%2, k), Method: method})
			if err == nil {
				_, err = e.Write(newPicture(t, k))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.zip", method)), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// writeManifest writes a folder of classes, with a list of them.
func writeManifest(t *testing.T, dir string) {
	t.Helper()
	list := "path,label,split\n"
	for k := range 4 {
		name := fmt.Sprintf("class%d/%d.png", k%2, k)
		list += fmt.Sprintf("%s,class%d,train\n", name, k%2)
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777),
			os.WriteFile(path, newPicture(t, k), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "list.csv"), []byte(list), 0o666); err != nil {
		t.Fatal(err)
	}
}

// writeIndex writes an index with all its possible files.
func writeIndex(t *testing.T, dir string) {
	t.Helper()
	x, err := index.Create(dir, index.Config{Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	some := func(from, n int) []store.Item {
		var out []store.Item
		for i := range n {
			columns := map[string]any{"price": float64(i), "kind": "shoe", "new": i%2 == 0}
			out = append(out, store.Item{ID: fmt.Sprint(from + i), Path: "p", Columns: columns,
				Vector: []float32{float32(i), float32(from), 1}})
		}
		return out
	}
	_, err = x.Add(t.Context(), some(0, 300), index.AddOptions{})
	if err == nil {
		err = x.Compact(t.Context(), index.CompactOptions{NumLists: 5})
	}
	if err == nil {
		_, err = x.Add(t.Context(), some(500, 20), index.AddOptions{})
	}
	if err == nil {
		_, err = x.Remove(t.Context(), "3", "7", "501")
	}
	if err = errors.Join(err, x.Close()); err != nil {
		t.Fatal(err)
	}
	for _, lock := range []string{".lock", "lock"} {
		_ = os.Remove(filepath.Join(dir, lock))
	}
}

// readIndex searches, lists and checks an index. Damage must be an error, and no item may
// have values that it never had.
func readIndex(dir, _ string) error {
	ctx := context.Background()
	checked, err := index.Check(ctx, dir, index.CheckOptions{})
	if err != nil {
		return err
	}
	x, err := index.Open(dir, index.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer x.Close()
	f, err := store.ParseFilter(`price < 100 and kind = "shoe" and not new`)
	if err != nil {
		return err
	}
	for _, q := range []index.Query{{Vector: []float32{1, 2, 3}, K: 5}, {Vector: []float32{9, 0, 1}, K: 3, Exact: true},
		{Vector: []float32{0, 0, 0}, K: 400, Filter: f}} {
		if _, err := x.Search(ctx, q); err != nil {
			return err
		}
	}
	for e, err := range x.All() {
		if err != nil {
			return err
		}
		n := int(e.Columns["price"].(float64))
		id, from := 0, 0
		fmt.Sscan(e.ID, &id)
		if id >= 500 {
			from = 500
		}
		if n != id-from || !slices.Equal(e.Vector, []float32{float32(n), float32(from), 1}) {
			panic(fmt.Sprintf("%+v was never added, and is believed (%d problems)", e, len(checked.Problems)))
		}
	}
	if n := len(checked.Problems); n > 0 {
		return fmt.Errorf("%d problems", n)
	}
	return nil
}
