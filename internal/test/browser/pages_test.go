package browser

import (
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
)

const (
	classes  = 100
	perClass = 60
)

// className returns one of a hundred names of sixty letters that differ at the end; one
// of them is a script.
func className(k int) string {
	if k == 7 {
		return "<script>alert(1)<" + "\u2215" + "script>"
	}
	return fmt.Sprintf("a class whose name is sixty letters long and ends in no. %03d", k)
}

// buildKindred is the program, built once for the test.
func buildKindred(t *testing.T, dir string) func(args ...string) {
	t.Helper()
	binary := filepath.Join(dir, "kindred")
	build := exec.Command("go", "build", "-o", binary, "github.com/kindred-ml/kindred/cmd/kindred")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return func(args ...string) {
		t.Helper()
		cmd := exec.Command(binary, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("kindred %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
}

// writeFile makes a file and the folders above it.
func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// writePhotos writes a folder for every class, and returns the photos' names.
func writePhotos(t *testing.T, dir string) (names []string) {
	t.Helper()
	for i := range classes * perClass {
		k := i / perClass
		im := image.NewRGBA(image.Rect(0, 0, 96, 72))
		for y := range 72 {
			for x := range 96 {
				v := math.Sin(float64(x*(k%9+1))/14) + math.Cos(float64(y*(k%7+1)+i)/11)
				im.SetRGBA(x, y, color.RGBA{uint8(120 + 50*v), uint8(40 + 2*k), uint8(200 - 2*k), 255})
			}
		}
		name := fmt.Sprintf("%s/photo_%04d.jpg", className(k), i)
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := jpeg.Encode(f, im, nil); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// writeEmbeddings writes embeddings and labels of the photos; noise moves the items of a
// class apart.
func writeEmbeddings(t *testing.T, stem string, names []string, cols int, noise float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	x := matrix.New(len(names), cols)
	var centre []float64
	labels := strings.Builder{}
	labels.WriteString("path,label,coarse\n")
	for i, n := range names {
		if i%perClass == 0 {
			centre = centre[:0]
			for range cols {
				centre = append(centre, rng.NormFloat64())
			}
		}
		for j := range cols {
			x.Row(i)[j] = float32(centre[j] + noise*rng.NormFloat64())
		}
		fmt.Fprintf(&labels, "%s,%s,group %d\n", n, filepath.Dir(n), i/perClass%7)
	}
	writeFile(t, stem+"labels.csv", labels.String())
	if err := embedding.Write(stem+"embeddings.npy", &embedding.Table{X: x}); err != nil {
		t.Fatal(err)
	}
}

// writeRun writes the files of a run.
func writeRun(t *testing.T, dir, data, positives string, names []string, cols int) {
	t.Helper()
	writeFile(t, filepath.Join(dir, "config.yaml"), fmt.Sprintf("data: {path: %q, size: 96}\n"+
		"network: {name: resnet18, dim: %d}\nmine: {positives: %s, negatives: semihard}\n"+
		"loss: {name: triplet, margin: 0.25}\ntrain: {epochs: 12, seed: 3}\n"+
		"eval: {recall: [1, 5, 10], keep: true}\n", data, cols, positives))
	metrics := "epoch,steps,lr,loss,tuples,active,no_positive,test_recall@1,test_recall@5,test_coarse_recall@1\n"
	timing := "epoch,train_seconds,eval_seconds\n"
	for e := range 12 {
		f := float64(e)
		metrics += fmt.Sprintf("%d,40,0.001,%.6f,5120,%d,0,%.4f,%.4f,%.4f\n", e+1, 0.4/(1+f), 5000-400*e,
			0.9-0.01*(f-8)*(f-8), 0.95-0.005*(f-8)*(f-8), 0.5+0.02*f)
		timing += fmt.Sprintf("%d,63.5,8.25\n", e+1)
	}
	writeFile(t, filepath.Join(dir, "metrics.csv"), metrics)
	writeFile(t, filepath.Join(dir, "timing.csv"), timing)
	writeEmbeddings(t, dir+"/", names, cols, 0.4)
	writeEmbeddings(t, dir+"/snapshots/0000_test_", names, cols, 3)
	writeEmbeddings(t, dir+"/snapshots/0012_test_", names, cols, 0.4)
}

// writeDigits writes a small MNIST: the ten digits are squares of ten sizes.
func writeDigits(t *testing.T, home string) {
	t.Helper()
	for name, n := range map[string]int{"train": 600, "t10k": 300} {
		images := []byte{0, 0, 8, 3, 0, 0, byte(n >> 8), byte(n), 0, 0, 0, 28, 0, 0, 0, 28}
		labels := []byte{0, 0, 8, 1, 0, 0, byte(n >> 8), byte(n)}
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		for i := range n {
			k := i % 10
			labels = append(labels, byte(k))
			dx, dy := rng.IntN(8), rng.IntN(8)
			for y := range 28 {
				for x := range 28 {
					v := byte(rng.IntN(40))
					if x >= dx && x < dx+4+2*k && y >= dy && y < dy+24-2*k {
						v = 220
					}
					images = append(images, v)
				}
			}
		}
		writeFile(t, filepath.Join(home, "mnist", name+"-images-idx3-ubyte"), string(images))
		writeFile(t, filepath.Join(home, "mnist", name+"-labels-idx1-ubyte"), string(labels))
	}
}

// newPages holds the pages by name. Each is made when it is first needed.
func newPages(t *testing.T) map[string]func() string {
	t.Helper()
	dir := t.TempDir()
	run := buildKindred(t, dir)
	set := filepath.Join(dir, "photos")
	names := writePhotos(t, set)
	long := "a run with a name of sixty letters, as programs that sweep make"
	writeRun(t, filepath.Join(dir, "runs", long), set, "easy", names, 24)
	few := names[:10*perClass]
	writeRun(t, filepath.Join(dir, "runs", "plane"), set, "random", few, 2)
	one := filepath.Join("runs", long)
	e, l := filepath.Join(one, "embeddings.npy"), filepath.Join(one, "labels.csv")
	writeDigits(t, filepath.Join(dir, "home"))
	train := sync.OnceFunc(func() {
		run("train", "--data", set, "--out", "trained", "--set", "train.epochs=1", "--set", "data.size=24",
			"--set", "data.train_limit=4", "--set", "data.test_limit=4")
	})

	pages := map[string]func() string{}
	page := func(name, path string, args ...string) {
		pages[name] = sync.OnceValue(func() string {
			if name == "search" || name == "trained" {
				train()
			}
			if name == "identify" {
				run("calibrate", e, "--labels", l, "--out", filepath.Join(dir, "calibration.json"))
			}
			if len(args) > 0 {
				run(append(args, "--out", name)...)
			}
			return filepath.Join(dir, name, filepath.FromSlash(path))
		})
	}
	page("map", "map.html", "map", "--embeddings", e, "--labels", l, "--columns", "label,coarse", "--method", "pca",
		"--data", set)
	page("neighbours", "neighbours.html", "neighbours", "--embeddings", e, "--labels", l, "--data", set,
		"--queries", "60")
	page("decisions", "eval.html", "eval", "--embeddings", e, "--labels", l, "--columns", "label,coarse", "--metrics",
		"eer,fnmr@fmr=1e-2,fnmr@fmr=1e-4,auc,dprime", "--bootstrap", "20")
	page("diagnosis", "diagnosis.html", "diagnose", one, "--label", "label", "--anchors", "500")
	page("diagnoses", "diagnosis.html", "diagnose", one, filepath.Join("runs", "plane"), "--label", "label",
		"--anchors", "200")
	page("report", "report.html", "report", one)
	page("reports", "report.html", "report", one, filepath.Join("runs", "plane"))
	page("trained", "report.html")
	page("search", "search.html", "search", filepath.Join(set, filepath.FromSlash(names[0])),
		filepath.Join(set, filepath.FromSlash(names[70])), "--run", "trained", "--in", filepath.Join(set, className(0)))
	page("identify", "identify.html", "identify", "--vector", e, "--embeddings", e, "--labels", l, "--in", set,
		"--calibration", filepath.Join(dir, "calibration.json"), "--coverage", "0.9", "--queries", "30")
	page("reproduce", "report.html", "reproduce", "mnist", "--fast", "--data-dir", filepath.Join(dir, "home"))
	writeFile(t, filepath.Join(dir, "plan.yaml"), "set: {data: {name: mnist, train_limit: 20, test_limit: 10}, "+
		"train.epochs: 3, network.dim: 8}\nranges:\n  train.lr: {low: 0.0003, high: 0.01, log: true}\n"+
		"  mine.positives: [easy, random]\n  loss.margin: {low: 0.1, high: 0.4, step: 0.1}\n"+
		"arms: [{name: triplet}, {name: never, stop: never, search: random}]\ntrials: 4\nfolds: images:2\nseeds: 1\n")
	page("sweep", "report.html", "sweep", "plan.yaml", "--data-dir", filepath.Join(dir, "home"))
	writeFile(t, filepath.Join(dir, "arms.yaml"), "set: {data: {name: mnist, train_limit: 20, test_limit: 10}, "+
		"train.epochs: 1, network.dim: 8}\narms:\n  - {name: triplet}\n"+
		"  - {name: a name of an arm that is longer than a phone is wide, set: {loss.name: multisimilarity}}\n")
	page("compare", "report.html", "compare", "arms.yaml", "--data-dir", filepath.Join(dir, "home"))
	page("noise", "index.html", "theory", "noise", "--restarts", "1", "--draws", "50")
	page("isometry", "index.html", "theory", "isometry", "--sets", "20", "--searches", "2", "--steps", "3")
	page("field", "index.html", "theory", "field", "--loss", "first,second", "--gamma", "0.2,0.8", "--p", "0,0.4")
	page("live", "index.html", "theory", "live", "--run", one, "--anchors", "200")
	return pages
}
