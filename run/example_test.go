package run_test

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/run"
)

// draw makes a folder of pictures for each class: a coloured disc somewhere on a
// grey ground.
func draw(dir string, perClass int) error {
	rng := rand.New(rand.NewPCG(1, 2))
	for k, c := range []color.RGBA{{220, 40, 40, 255}, {40, 180, 40, 255}, {40, 40, 220, 255}, {220, 220, 40, 255}} {
		name := []string{"red", "green", "blue", "yellow"}[k]
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			return err
		}
		for i := range perClass {
			m := image.NewRGBA(image.Rect(0, 0, 24, 24))
			cx, cy, ground := 8+rng.IntN(8), 8+rng.IntN(8), uint8(100+rng.IntN(40))
			for y := range 24 {
				for x := range 24 {
					m.Set(x, y, color.Gray{ground})
					if (x-cx)*(x-cx)+(y-cy)*(y-cy) < 49 {
						m.Set(x, y, c)
					}
				}
			}
			f, err := os.Create(filepath.Join(dir, name, fmt.Sprintf("%02d.png", i)))
			if err != nil {
				return err
			}
			if err := png.Encode(f, m); err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Example trains on a folder of pictures, and computes the embeddings of another
// one with what came of it.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "kindred")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	photos, more, folder := filepath.Join(dir, "photos"), filepath.Join(dir, "more"), filepath.Join(dir, "run")
	if err := draw(photos, 16); err != nil {
		log.Fatal(err)
	}
	if err := draw(more, 5); err != nil {
		log.Fatal(err)
	}

	cfg, err := run.Parse("", nil, fmt.Sprintf("data.path=%q", photos), "network.width=8", "network.dim=8",
		"train.epochs=4", "sample.batches=10", "sample.per_class=6")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := run.Train(ctx, cfg, run.Options{Dir: folder}); err != nil {
		log.Fatal(err)
	}

	model, err := run.Load(folder)
	if err != nil {
		log.Fatal(err)
	}
	d, err := data.Open(ctx, more, data.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	e, err := model.EmbedPart(ctx, d.All())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d embeddings of %d numbers\n", e.X.Rows, e.X.Cols)
	recall, err := eval.RecallAt(ctx, e.X, e.Labels(), eval.Euclidean, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("Recall@1 above 0.8:", recall[0] > 0.8)
	// Output:
	// 20 embeddings of 8 numbers
	// Recall@1 above 0.8: true
}

// ExampleImport writes a network down, as a program does that made or trained one by
// itself, with what its input is; kindred embed --network FOLDER does the rest of it.
func ExampleImport() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "kindred")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	photos, folder := filepath.Join(dir, "photos"), filepath.Join(dir, "network")
	if err := errors.Join(draw(photos, 3), os.Mkdir(folder, 0o777)); err != nil {
		log.Fatal(err)
	}

	spec, err := zoo.Network("conv4", zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Width: 8, Dim: 16})
	if err != nil {
		log.Fatal(err)
	}
	spec.Meta = map[string]string{"pixels": "symmetric"} // values from -1 to 1
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := net.Save(folder); err != nil {
		log.Fatal(err)
	}

	model, notes, err := run.Import(folder, "", run.DataConfig{})
	if err != nil {
		log.Fatal(err)
	}
	d, err := data.Open(ctx, photos, data.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	e, err := model.EmbedPart(ctx, d.All())
	if err != nil {
		log.Fatal(err)
	}
	c := model.Config.Data
	fmt.Println(c.Size, c.Channels, c.Pixels, notes)
	fmt.Printf("%d embeddings of %d numbers\n", e.X.Rows, e.X.Cols)
	// Output:
	// 32 3 symmetric []
	// 12 embeddings of 16 numbers
}

// ExampleOpen reads what a run left in its folder.
func ExampleOpen() {
	if _, err := run.Open("no-such-run"); err != nil {
		fmt.Println(err)
	}
	// Output: no-such-run: no such file or folder: give the folder of a run, as kindred train writes it
}

// ExampleModel_Export writes a network for another runtime, with the numbers by which that prepares a photo: the value
// of a channel is (v / 255 - mean) / std, and Embed gives the embedding that the other runtime should give.
func ExampleModel_Export() {
	dir, err := os.MkdirTemp("", "kindred")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	spec, err := zoo.Network("conv4", zoo.Options{Input: nn.Shape{H: 24, W: 24, C: 3}, Dim: 8})
	if err != nil {
		log.Fatal(err)
	}
	spec.Meta = map[string]string{"pixels": "symmetric"}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := net.Save(dir); err != nil {
		log.Fatal(err)
	}
	m, _, err := run.Import(dir, "", run.DataConfig{}) // run.Load of a run
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, "photos.onnx"))
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(m.Export(file), file.Close()); err != nil {
		log.Fatal(err)
	}
	p, err := m.Preparation()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("input", p.Input, "mean", p.Mean, "std", p.Std)

	e, err := m.Embed(context.Background(), image.NewGray(image.Rect(0, 0, 24, 24)))
	if err != nil {
		log.Fatal(err)
	}
	again, _, err := run.Import(file.Name(), "", run.DataConfig{}) // in place of the other runtime
	if err != nil {
		log.Fatal(err)
	}
	other, err := again.Embed(context.Background(), image.NewGray(image.Rect(0, 0, 24, 24)))
	fmt.Println(e.Cols, "numbers, the same:", slices.Equal(e.Row(0), other.Row(0)), err)
	// Output:
	// input 24 x 24 x 3 mean [0.5 0.5 0.5] std [0.5 0.5 0.5]
	// 8 numbers, the same: true <nil>
}
