package kindred_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"log"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/serve"
	"github.com/kindred-ml/kindred/store"
)

// discs draws a folder of pictures for each class: discs of one colour somewhere on a grey
// ground. An embed.FS or os.DirFS does as well.
func discs(classes, perClass int) fs.FS {
	files := fstest.MapFS{}
	rng := rand.New(rand.NewPCG(1, 2))
	for c := range classes {
		hue := 2 * math.Pi * float64(c) / float64(classes)
		part := func(shift float64) uint8 { return uint8(128 + 120*math.Cos(hue+shift)) }
		disc := color.RGBA{part(0), part(2), part(4), 255}
		for k := range perClass {
			m := image.NewRGBA(image.Rect(0, 0, 24, 24))
			x, y, ground := 8+rng.IntN(8), 8+rng.IntN(8), uint8(120+rng.IntN(16))
			for i := range 24 * 24 {
				m.Set(i%24, i/24, color.Gray{ground})
				if dx, dy := i%24-x, i/24-y; dx*dx+dy*dy < 49 {
					m.Set(i%24, i/24, disc)
				}
			}
			var b bytes.Buffer
			if err := png.Encode(&b, m); err != nil {
				log.Fatal(err)
			}
			files[fmt.Sprintf("colour%02d/%d.png", c, k)] = &fstest.MapFile{Data: b.Bytes()}
		}
	}
	return files
}

// averaging is a model whose embedding of a picture is its mean colour. It takes no training;
// run.Load gives the model of a run, and run.Import that of an ONNX file.
func averaging(dir string) (*run.Model, error) {
	net, err := nn.New(&nn.Spec{Input: nn.Shape{H: 24, W: 24, C: 3}, Layers: []nn.Layer{{Kind: nn.GlobalAvgPool}},
		Meta: map[string]string{"pixels": "unit", "distance": "euclidean"}}, nn.Options{})
	if err != nil {
		return nil, err
	}
	if err := net.Save(dir); err != nil {
		return nil, err
	}
	m, _, err := run.Import(dir, "", run.DataConfig{})
	return m, err
}

// temporary is a folder for an Example.
func temporary() string {
	dir, err := os.MkdirTemp("", "kindred")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

// soft is log(1 + exp(D_ap - D_an)) for every triplet: a loss of one's own.
type soft struct{}

func (soft) Traits() loss.Traits { return loss.Traits{Measure: loss.Euclidean} }

func (l soft) Terms() loss.Terms { return loss.TupleTerms(l) }

func (soft) Tuples(ap, an, val, dap, dan []float32) {
	for k := range ap {
		v := float64(ap[k] - an[k])
		slope := float32(1 / (1 + math.Exp(-v)))
		val[k], dap[k], dan[k] = float32(max(v, 0)+math.Log1p(math.Exp(-math.Abs(v)))), slope, -slope
	}
}

// Fine-tune a network from a file of weights, with a loss of one's own.
func Example_fineTune() {
	ctx, dir := context.Background(), temporary()
	defer os.RemoveAll(dir)
	// The weights of some other training, of which only the shapes matter here.
	spec, err := zoo.Network("conv4", zoo.Options{Input: nn.Shape{H: 24, W: 24, C: 3}, Width: 8, Dim: 8})
	if err != nil {
		log.Fatal(err)
	}
	start, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := start.Save(dir); err != nil {
		log.Fatal(err)
	}

	d, err := data.OpenFS(ctx, discs(6, 12), "discs", data.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	cfg, err := run.Parse("", nil, "network.name=conv4", "network.width=8", "network.dim=8",
		fmt.Sprintf("network.pretrained=%q", filepath.Join(dir, nn.WeightsFile)), "data.size=24",
		"train.epochs=3", "sample.batches=8", "mine.positives=random", "mine.negatives=hard")
	if err != nil {
		log.Fatal(err)
	}
	res, err := run.Train(ctx, cfg, run.Options{Dataset: d, Dir: filepath.Join(dir, "run"), Loss: soft{}})
	if err != nil {
		log.Fatal(err)
	}
	first, last := res.History[0], res.LastEpoch()
	fmt.Println("the loss has fallen:", last.MeanLoss() < first.MeanLoss())
	fmt.Println("config.yaml says:", res.Config.Loss["name"])
	// Output:
	// the loss has fallen: true
	// config.yaml says: own
}

// Embed the pictures of a file system, as an embed.FS.
func Example_embed() {
	ctx, dir := context.Background(), temporary()
	defer os.RemoveAll(dir)
	m, err := averaging(dir)
	if err != nil {
		log.Fatal(err)
	}
	d, err := data.OpenFS(ctx, discs(3, 2), "discs", data.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	e, err := m.EmbedPart(ctx, d.All())
	if err != nil {
		log.Fatal(err)
	}
	distance, err := m.Distance()
	fmt.Printf("%d embeddings of %d numbers, compared by their %v distance: %v\n", e.X.Rows, e.X.Cols, distance, err)
	// Output: 6 embeddings of 3 numbers, compared by their euclidean distance: <nil>
}

// Embed pictures from many goroutines, as the handlers of a service do.
func Example_embedConcurrently() {
	ctx, dir := context.Background(), temporary()
	defer os.RemoveAll(dir)
	m, err := averaging(dir)
	if err != nil {
		log.Fatal(err)
	}
	var all sync.WaitGroup
	var reds [8]float32
	for i := range reds {
		all.Go(func() {
			picture := image.NewRGBA(image.Rect(0, 0, 24, 24)) // of one colour
			red := image.NewUniform(color.RGBA{uint8(32 * i), 0, 0, 255})
			draw.Draw(picture, picture.Rect, red, image.Point{}, draw.Src)
			x, err := m.Embed(ctx, picture)
			if err != nil {
				log.Fatal(err)
			}
			reds[i] = x.At(0, 0)
		})
	}
	all.Wait()
	fmt.Printf("%.2f\n", reds)
	// Output: [0.00 0.13 0.25 0.38 0.50 0.63 0.75 0.88]
}

// filled makes an index of the pictures of a file system.
func filled(ctx context.Context, dir string, m *run.Model, pictures fs.FS) (*index.Index, error) {
	d, err := data.OpenFS(ctx, pictures, "discs", data.OpenOptions{})
	if err != nil {
		return nil, err
	}
	e, err := m.EmbedPart(ctx, d.All())
	if err != nil {
		return nil, err
	}
	distance, err := m.Distance()
	if err != nil {
		return nil, err
	}
	x, err := index.Create(dir, index.Config{Dim: e.X.Cols, Distance: distance})
	if err != nil {
		return nil, err
	}
	var items []store.Item
	for row, name := range d.Names {
		label, _, _ := strings.Cut(name, "/")
		items = append(items, store.Item{ID: name, Columns: map[string]any{"label": label}, Vector: e.X.Row(row)})
	}
	_, err = x.Add(ctx, items, index.AddOptions{})
	return x, err
}

// Search the pictures that look most like one.
func Example_search() {
	ctx, dir := context.Background(), temporary()
	defer os.RemoveAll(dir)
	m, err := averaging(dir)
	if err != nil {
		log.Fatal(err)
	}
	x, err := filled(ctx, filepath.Join(dir, "index"), m, discs(6, 4))
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	one, ok, err := x.Get("colour04/0.png")
	if err != nil || !ok {
		log.Fatal(ok, err)
	}
	found, err := x.Search(ctx, index.Query{Vector: one.Vector, K: 4})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range found.Hits {
		fmt.Println(h.Columns["label"])
	}
	// Output:
	// colour04
	// colour04
	// colour04
	// colour04
}

// Serve an index under one's own mux.
func Example_serve() {
	ctx, dir := context.Background(), temporary()
	defer os.RemoveAll(dir)
	m, err := averaging(dir)
	if err != nil {
		log.Fatal(err)
	}
	x, err := filled(ctx, filepath.Join(dir, "index"), m, discs(6, 4))
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	s, err := serve.New(serve.Options{ReadOnly: true, Collections: []serve.Collection{
		{Name: "discs", Store: x.Store(false), Embedder: serve.NetworkEmbedder(m)}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	mux := http.NewServeMux()
	mux.Handle("/similar/", http.StripPrefix("/similar", s))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the rest of the program") })

	r := httptest.NewRequest("POST", "/similar/v1/search", strings.NewReader(`{"id": "colour04/0.png", "k": 3}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code, strings.Count(w.Body.String(), `"id":"colour04/`), "of the same colour")
	// Output: 200 3 of the same colour
}

// Decide whether two pictures show the same thing, with a stated error.
func Example_decide() {
	ctx, dir := context.Background(), temporary()
	defer os.RemoveAll(dir)
	m, err := averaging(dir)
	if err != nil {
		log.Fatal(err)
	}
	d, err := data.OpenFS(ctx, discs(60, 6), "discs", data.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	e, err := m.EmbedPart(ctx, d.All())
	if err != nil {
		log.Fatal(err)
	}
	distance, err := m.Distance()
	if err != nil {
		log.Fatal(err)
	}
	// Of classes that the network was not trained on.
	c, err := decide.Calibrate(ctx, e.X, e.Labels(), decide.Options{Distance: distance})
	if err != nil {
		log.Fatal(err)
	}
	t, err := c.Threshold(0.01)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("false matches at most %g up to some distance: %v\n", t.Rate, t.Distance > 0)
	_, err = c.Threshold(1e-6)
	fmt.Println(err)
	// Output:
	// false matches at most 0.01 up to some distance: true
	// a false-match rate of 1e-06 cannot be promised from 60 classes: 776 are needed; 60 can promise 0.00017 at best
}
