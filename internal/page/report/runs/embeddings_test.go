package runs

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
)

// writeBirds writes a folder of 3 classes with 6 pictures each, and returns their names.
func writeBirds(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	for i := range 18 {
		name := fmt.Sprintf("class %d/%02d.png", i/6, i)
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		im := image.NewNRGBA(image.Rect(0, 0, 100, 80))
		im.SetNRGBA(1, 1, color.NRGBA{uint8(10 * i), 0, 0, 255})
		var b bytes.Buffer
		if err := png.Encode(&b, im); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return dir, names
}

// writeEmbeddings writes embeddings of the pictures into a run's folder; spread moves the
// items of a class apart.
func writeEmbeddings(t *testing.T, stem string, names []string, spread float32) {
	t.Helper()
	x := matrix.New(len(names), 3)
	labels := "path,label\n"
	for i, n := range names {
		x.Row(i)[0], x.Row(i)[1], x.Row(i)[2] = float32(i/6*20), spread*float32(i%6), 1
		labels += n + "," + filepath.Dir(n) + "\n"
	}
	if err := os.MkdirAll(filepath.Dir(stem), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := embedding.Write(stem+"embeddings.npy", &embedding.Table{X: x}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stem+"labels.csv", []byte(labels), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLook sees maps and neighbours on the page of a run, and of two.
//
// Long: one run is looked at with its data set, beside another run, and without it.
func TestLook(t *testing.T) {
	data, names := writeBirds(t)
	config := fmt.Sprintf("data: {path: %q}\nnetwork: {name: conv4}\ntrain: {epochs: 3, seed: 1}\n"+
		"loss: {name: triplet, margin: 0.3}\n", data)
	dir := writeFolder(t, "looked", config,
		"epoch,loss,tuples,active,test_recall@1\n1,2,10,5,0.2\n2,1,10,5,0.9\n3,1,10,5,0.5\n")
	writeEmbeddings(t, dir+"/", names, 1)
	writeEmbeddings(t, dir+"/snapshots/0000_test_", names, 30)
	writeEmbeddings(t, dir+"/snapshots/0003_test_", names, 1)
	r, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := Compare([]*Run{r})
	if err := c.ReadEmbeddings(context.Background(), PageOptions{Page: filepath.Join(dir, "report.html"),
		Seed: 1}); err != nil {
		t.Fatal(err)
	}
	html := pageHTML(t, c)
	for what, want := range map[string]string{
		"the size of the set":     "Test set, 18 images of 3 classes",
		"what a curve is of":      "Recall@1 on the test set, 18 images of 3 classes.",
		"the best epoch":          "best: 2",
		"what was set":            "loss.margin",
		"the fold of all":         "settings</summary>",
		"the map":                 `figure class="map"`,
		"how the map is made":     "Test set: all 18 images, by t-SNE",
		"photos in the map":       `id="thumbs1">{"side":96`,
		"the way to whole photos": `"folder":"../../`,
		"rows before": "Before training: 6 random queries (first) and their nearest neighbours in the " +
			"test set, 18 images of 3 classes.",
		"rows after": "After training: 6 random queries (first) and their nearest neighbours in the " +
			"test set, 18 images of 3 classes.",
		"what the run is": "Network conv4, loss triplet, trained on",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %s: %s", what, want)
		}
	}
	// Only what was set stands open: the default number of epochs of a run was changed, its optimizer was not.
	open, _, _ := strings.Cut(html[strings.Index(html, "Other than the default"):], "<details>")
	if !strings.Contains(open, "train.epochs") || strings.Contains(open, "train.seed") {
		t.Errorf("other than the default: %s", open)
	}
	// Classes lie apart in both, but before training a class is wider than the way to the next.
	before, after, _ := strings.Cut(html[strings.Index(html, "Before training"):], "After training")
	if strings.Count(before, "✗") == 0 || strings.Count(after, "✗") >= strings.Count(before, "✗") {
		t.Errorf("%d wrong neighbours before and %d after", strings.Count(before, "✗"), strings.Count(after, "✗"))
	}
	// Beside a run with another test set, each tells the size of its own.
	other := writeFolder(t, "other", strings.Replace(config, "epochs: 3", "epochs: 5", 1),
		"epoch,loss,test_recall@1\n1,2,0.2\n")
	writeEmbeddings(t, other+"/", names[:12], 1)
	second, err := Load(other)
	if err != nil {
		t.Fatal(err)
	}
	both := Compare([]*Run{r, second})
	if err := both.ReadEmbeddings(context.Background(), PageOptions{}); err != nil {
		t.Fatal(err)
	}
	s := both.Scores()[0].String()
	if !strings.Contains(s, "images") || !strings.Contains(s, "looked      18        3") {
		t.Errorf("runs with different test sets:\n%s", s)
	}
	// Where the data set is gone, the page is made without photos.
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	c = Compare([]*Run{r})
	if err := c.ReadEmbeddings(context.Background(), PageOptions{Page: filepath.Join(dir, "report.html")}); err != nil {
		t.Fatal(err)
	}
	if html = pageHTML(t, c); strings.Contains(html, `id="thumbs`) || strings.Contains(html, "Before training") {
		t.Error("a page without photos")
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := Compare([]*Run{r}).ReadEmbeddings(ctx, PageOptions{}); err == nil {
		t.Error("Look does not stop")
	}
}
