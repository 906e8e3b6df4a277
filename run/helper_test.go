package run

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/train"
)

// blobs is a set of grey images in memory: class c is a bright spot at a place
// of its own, with noise.
type blobs struct {
	side int
	pix  [][]uint8
	bad  int // sample that cannot be read, -1 for none
}

func (b *blobs) Shape() (w, h, c int) { return b.side, b.side, 1 }

func (b *blobs) Read(_ context.Context, i int, dst *imaging.Image, _ *imaging.Decoder) error {
	if i == b.bad {
		return os.ErrInvalid
	}
	dst.Reset(b.side, b.side, 1)
	copy(dst.Pix, b.pix[i])
	return nil
}

// newBlobs makes classes x perClass images; the first half of every class is
// for training.
func newBlobs(classes, perClass, side int) *data.Dataset {
	rng := rand.New(rand.NewPCG(7, 7))
	src := &blobs{side: side, bad: -1}
	col := data.Column{Name: "digit"}
	d := &data.Dataset{Name: "blobs", Layout: "test", Source: src, Fine: "digit", Train: "digit"}
	for c := range classes {
		col.Classes = append(col.Classes, string(rune('0'+c)))
		col.Numbers = append(col.Numbers, int64(c))
		for k := range perClass {
			pix := make([]uint8, side*side)
			cy, cx := float64(side)*(0.2+0.6*rng.Float64()*0.2+0.5*float64(c%4)/4),
				float64(side)*(0.2+0.6*float64(c)/float64(classes))
			for y := range side {
				for x := range side {
					r := math.Hypot(float64(y)-cy, float64(x)-cx)
					pix[y*side+x] = uint8(min(255, 200*math.Exp(-r*r/4)+40*rng.Float64()))
				}
			}
			src.pix = append(src.pix, pix)
			col.IDs = append(col.IDs, int64(c))
			d.Names = append(d.Names, string(rune('a'+c))+string(rune('a'+k%26))+string(rune('a'+k/26)))
			split := data.Train
			if k >= perClass/2 {
				split = data.Test
			}
			d.Splits = append(d.Splits, split)
		}
	}
	d.Columns = []data.Column{col}
	return d
}

// newFeatures makes a set of ready features: classes x perClass rows around one
// point a class.
func newFeatures(classes, perClass, dim int) *data.Dataset {
	d := newBlobs(classes, perClass, 4)
	rng := rand.New(rand.NewPCG(3, 3))
	centres := make([][]float64, classes)
	for c := range centres {
		for range dim {
			centres[c] = append(centres[c], rng.NormFloat64())
		}
	}
	d.Source = nil
	d.Features = matrix.New(classes*perClass, dim)
	for i := range d.Features.Rows {
		for j := range dim {
			d.Features.Row(i)[j] = float32(centres[i/perClass][j] + 0.5*rng.NormFloat64())
		}
	}
	return d
}

// smallConfig is a run of a second on newBlobs: every kind of state is in play
// (batch norm, dropout, a learned loss parameter, a memory of embeddings).
func smallConfig(t testing.TB) Config {
	t.Helper()
	cfg, err := Parse("test", []byte(`
data:    {label: parity}
network: {name: conv4, width: 8, dim: 8, dropout: 0.2}
sample:  {classes: 2, per_class: 8, batches: 6}
mine:    {positives: easy, negatives: distance}
loss:    {name: margin, memory: 40}
train:   {epochs: 3, lr: 0.01, schedule: cosine, warmup: 0.5, weight_decay: 0.001, clip: 1, seed: 5}
eval:    {recall: [1, 5], metrics: [map@r]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// readFolder reads the files of a run folder, but for the one with times.
func readFolder(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == record.TimingFile {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sameFolders compares two run folders byte by byte.
func sameFolders(t *testing.T, want, got string) {
	t.Helper()
	a, b := readFolder(t, want), readFolder(t, got)
	if len(a) < 6 {
		t.Fatalf("%s holds %d files only", want, len(a))
	}
	for name := range a {
		if a[name] != b[name] {
			t.Errorf("%s differs", name)
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d files and %d", len(a), len(b))
	}
}

func checkpointPath(dir string) string { return (&Folder{record.Dir{Path: dir}}).CheckpointPath() }

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// paramObjective is an objective of which nothing counts but its parameter.
type paramObjective struct {
	train.Objective
	param *loss.Param
}

func (l paramObjective) Params() []*loss.Param { return []*loss.Param{l.param} }
