package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/indexing"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/serve/api"
)

// searchRun trains a little on photos and returns their folder and the run's.
func searchRun(t *testing.T) (dir, run string) {
	t.Helper()
	dir, run = writePhotos(t), filepath.Join(t.TempDir(), "run")
	code, _, stderr := runArgs(t, "train", "--data", dir, "--out", run, "--set", "data.split=images:0.3", "--set",
		"train.epochs=1", "--set", "network.name=mlp", "--set", "network.width=8")
	if code != exitOK {
		t.Fatal(stderr)
	}
	return dir, run
}

// searchFor runs kindred search with --json.
func searchFor(t *testing.T, args ...string) (res lookup.Results, stderr string) {
	t.Helper()
	code, stdout, stderr := runArgs(t, append([]string{"search", "--json"}, args...)...)
	if code != exitOK {
		t.Fatalf("%v: status %d\n%s", args, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &res); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	return res, stderr
}

func neighbourPaths(q api.Answer) (paths []string) {
	for _, n := range q.Neighbours {
		paths = append(paths, n.Path)
	}
	return paths
}

func TestSearch(t *testing.T) {
	dir, run := searchRun(t)
	one, two := filepath.Join(dir, "c0", "1.png"), filepath.Join(dir, "c2", "4.png")
	out := filepath.Join(t.TempDir(), "found")
	res, _ := searchFor(t, one, two, "--run", run, "--in", dir, "--out", out)
	if len(res.Queries) != 2 || res.Items != 18 || res.Queries[0].Query != filepath.ToSlash(one) {
		t.Fatalf("%+v", res)
	}
	for _, q := range res.Queries {
		if len(q.Neighbours) != 10 || len(q.QueryIDs) != 1 || filepath.ToSlash(q.QueryIDs[0]) != q.Query ||
			slices.Contains(neighbourPaths(q), q.QueryIDs[0]) {
			t.Errorf("%s is %v, its neighbours %v", q.Query, q.QueryIDs, neighbourPaths(q))
		}
		last := 0.0
		for _, n := range q.Neighbours {
			if n.Distance < last || n.Label != filepath.Base(filepath.Dir(n.Path)) {
				t.Errorf("%s: %+v", q.Query, n)
			}
			if _, err := os.Stat(n.Path); err != nil {
				t.Error(err)
			}
			last = n.Distance
		}
	}
	page, err := os.ReadFile(filepath.Join(out, "search.html"))
	if n := strings.Count(string(page), "<img "); err != nil || n != 22 {
		t.Errorf("%d pictures, %v", n, err)
	}
	if st, err := os.Stat(filepath.Join(out, "search.png")); err != nil || st.Size() == 0 || len(res.Files) != 2 {
		t.Errorf("%v, files %v", err, res.Files)
	}

	again := []string{"search", one, "--run", run, "--in", dir, "--out", out}
	if code, _, stderr := runArgs(t, again...); code != exitFailure || !strings.Contains(stderr, "--force") {
		t.Errorf("written twice: status %d, %s", code, stderr)
	}
	if code, _, stderr := runArgs(t, append(again, "--force")...); code != exitOK {
		t.Errorf("written twice by force: status %d, %s", code, stderr)
	}

	code, stdout, stderr := runArgs(t, "search", one, "--run", run, "--in", dir, "--neighbours", "2")
	first := neighbourPaths(res.Queries[0])
	if code != exitOK || strings.Count(stdout, "distance ") != 2 || !strings.Contains(stdout, first[1]) ||
		strings.Contains(stdout, first[2]) || !strings.Contains(stdout, "this very picture, left out below: c0 ("+one+
		")") ||
		!strings.Contains(stderr, "embedding 18 photos") {
		t.Errorf("status %d: %s%s", code, stdout, stderr)
	}
	more, _ := searchFor(t, filepath.Join(dir, "c1"), "--run", run, "--in", dir, "--neighbours", "1000000",
		"--distance", "cosine")
	if len(more.Queries) != 6 || len(more.Queries[0].Neighbours) != 17 ||
		more.Queries[0].Neighbours[0].Distance < -1e-6 {
		t.Errorf("%d queries, the first with %+v", len(more.Queries), more.Queries[0].Neighbours)
	}
}

// Without a run or a network search takes the one that training starts from.
func TestSearchWithoutARun(t *testing.T) {
	home, dir := t.TempDir(), writePhotos(t)
	t.Setenv(weights.EnvHome, home)
	e := writeEmptyStart(t, home)
	code, _, stderr := runArgs(t, "search", filepath.Join(dir, "c0", "1.png"), "--in", dir)
	const says = "compared by the pretrained network "
	if code != exitFailure || !strings.Contains(stderr, says+e.Name+"; use --run DIR") ||
		!strings.Contains(stderr, e.Path(home)) {
		t.Errorf("status %d, %s", code, stderr)
	}
}

// writeEmptyStart writes a file of zeros in the place of the weights that training on
// photographs starts from.
func writeEmptyStart(t *testing.T, home string) weights.Entry {
	t.Helper()
	e, _ := weights.DefaultStart(home)
	writeBytes(t, e.Path(home), nil)
	if err := os.Truncate(e.Path(home), e.Bytes); err != nil {
		t.Fatal(err)
	}
	return e
}

// What a program saved with package nn embeds and searches like a run, by its folder
// and by its files.
func TestSearchAndEmbedWithASavedNetwork(t *testing.T) {
	dir, saved := writePhotos(t), t.TempDir()
	spec, err := zoo.Network("mlp", zoo.Options{Input: nn.Shape{H: 8, W: 8, C: 1}, Width: 4, Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{})
	if err == nil {
		err = net.Save(saved)
	}
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for i, of := range []string{saved, filepath.Join(saved, nn.WeightsFile), filepath.Join(saved, nn.SpecFile)} {
		out := filepath.Join(t.TempDir(), "E.csv")
		code, _, stderr := runArgs(t, "embed", "--network", of, "--data", dir, "--out", out)
		text, err := os.ReadFile(out)
		if code != exitOK || err != nil || !strings.Contains(stderr, "unit is assumed") {
			t.Fatalf("%s: status %d, %v, %s", of, code, err, stderr)
		}
		if said = append(said, string(text)); said[i] != said[0] || strings.Count(said[0], "\n") != 19 {
			t.Errorf("%s: other embeddings", of)
		}
	}
	res, _ := searchFor(t, filepath.Join(dir, "c0", "1.png"), "--network", saved, "--pixels", "inverted", "--in", dir)
	if len(res.Queries) != 1 || len(res.Queries[0].Neighbours) != 10 || res.Distance != eval.Cosine.String() {
		t.Errorf("%+v", res)
	}
	// An index compares by the same, and by what the network's description says.
	for said, want := range map[string]eval.Distance{"": eval.Cosine, "euclidean": eval.Euclidean} {
		if net.Spec().Meta = nil; said != "" {
			net.Spec().Meta = map[string]string{"distance": said}
		}
		if err := net.Save(saved); err != nil {
			t.Fatal(err)
		}
		ix := filepath.Join(t.TempDir(), "x")
		var added indexing.Added
		kindredJSON(t, &added, "index", "create", "--network", saved, "--pixels", "unit", "--data", dir, "--out", ix)
		x, err := index.Open(ix, index.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if d := x.Info().Distance; d != want {
			t.Errorf("the index of a network that says %q compares by %v", said, d)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A folder without classes, and photos that are no photos.
func TestSearchInAFlatFolder(t *testing.T) {
	dir, run := searchRun(t)
	flat := t.TempDir()
	for _, name := range []string{"c0/0.png", "c0/1.png", "c1/2.png", "c2/3.png"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		writeBytes(t, filepath.Join(flat, strings.ReplaceAll(name, "/", "-")), b)
	}
	writeBytes(t, filepath.Join(flat, "broken.png"), []byte("no picture"))
	writeBytes(t, filepath.Join(flat, "notes.txt"), []byte("no picture"))
	broken, copied := filepath.Join(t.TempDir(), "broken.jpg"), filepath.Join(dir, "c0", "1.png")
	writeBytes(t, broken, []byte("no picture either"))
	res, stderr := searchFor(t, broken, copied, "none.jpg", filepath.Join(dir, "c2", "5.png"), "--run", run, "--in",
		flat)
	if len(res.Queries) != 2 || res.Items != 4 || len(res.Queries[0].Neighbours) != 3 ||
		len(res.Queries[1].Neighbours) != 4 || res.Queries[1].QueryIDs != nil {
		t.Fatalf("%+v", res)
	}
	if want := []string{filepath.Join(flat, "c0-1.png")}; !slices.Equal(res.Queries[0].QueryIDs, want) {
		t.Errorf("the copy is %v", res.Queries[0].QueryIDs)
	}
	for _, n := range res.Queries[1].Neighbours {
		if n.Label != "" || filepath.Dir(n.Path) != flat {
			t.Errorf("%+v", n)
		}
	}
	for _, name := range []string{"broken.jpg", "none.jpg", "broken.png", "notes.txt"} {
		if !strings.Contains(stderr, name) {
			t.Errorf("%s is not named: %s", name, stderr)
		}
	}
	if len(res.LeftOut) != 2 || len(res.GalleryLeftOut) != 2 {
		t.Errorf("left out %v of the queries and %v of the gallery", res.LeftOut, res.GalleryLeftOut)
	}
	one, _ := searchFor(t, copied, "--run", run, "--in", filepath.Join(flat, "c1-2.png"))
	if got := neighbourPaths(one.Queries[0]); !slices.Equal(got, []string{filepath.Join(flat, "c1-2.png")}) {
		t.Errorf("in one photo: %v", got)
	}
	for want, args := range map[string][]string{
		"none of 1 pictures can be read": {broken, "--in", flat}, "no image in none.jpg": {"none.jpg", "--in", flat},
		"no images":                        {copied, "--in", t.TempDir()},
		"no such file or folder":           {copied, "--in", filepath.Join(flat, "none")},
		"is not the folder of a run":       {copied, "--in", flat, "--run", flat},
		"none of 1 pictures can be read; ": {copied, "--in", filepath.Join(flat, "broken.png")},
	} {
		code, _, stderr := runArgs(t, append([]string{"search", "--run", run}, args...)...)
		if code != exitFailure || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %s", args, code, stderr)
		}
	}
}

// The gallery's embeddings from a file give the answers that its photos give.
func TestSearchInEmbeddings(t *testing.T) {
	dir, run := searchRun(t)
	tmp := t.TempDir()
	photo := filepath.Join(dir, "c0", "1.png")
	want, _ := searchFor(t, photo, "--run", run, "--in", dir)
	for _, name := range []string{"E.npy", "E.parquet"} {
		file := filepath.Join(tmp, name)
		if code, _, stderr := runArgs(t, "embed", "--run", run, "--data", dir, "--out", file); code != exitOK {
			t.Fatal(stderr)
		}
		got, stderr := searchFor(t, photo, "--run", run, "--embeddings", file, "--in", dir, "--out",
			filepath.Join(tmp, "of "+name))
		a, _ := json.Marshal(want.Queries)
		b, _ := json.Marshal(got.Queries)
		if string(a) != string(b) || stderr != "" {
			t.Errorf("%s: %s\nby the photos: %s\n%s", name, b, a, stderr)
		}
		bare, _ := searchFor(t, photo, "--run", run, "--embeddings", file)
		first := want.Queries[0].Neighbours[0]
		if q := bare.Queries[0]; len(q.Neighbours) != 10 || q.Neighbours[0].Label != first.Label ||
			!strings.HasSuffix(filepath.ToSlash(first.Path), q.Neighbours[0].Path) ||
			!slices.Equal(q.QueryIDs, []string{"c0/1.png"}) {
			t.Errorf("%s without photos: %+v", name, q)
		}
	}
	write := func(name string, table *embedding.Table) string {
		path := filepath.Join(tmp, name)
		if err := embedding.Write(path, table); err != nil {
			t.Fatal(err)
		}
		return path
	}
	e, err := cli.EmbeddingFormats().Read(filepath.Join(tmp, "E.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.X.Data {
		e.X.Data[i]++
	}
	_, stderr := searchFor(t, photo, "--run", run, "--embeddings", write("moved.csv", e), "--in", dir)
	if !strings.Contains(stderr, "was it made by another network than") {
		t.Errorf("other embeddings pass: %s", stderr)
	}
	nameless, _ := searchFor(t, photo, "--run", run, "--embeddings", write("bare.npz", &embedding.Table{X: e.X}))
	if n := nameless.Queries[0].Neighbours[0]; n.Path != "" || n.Label != "" {
		t.Errorf("%+v", n)
	}
	short := write("short.npz", &embedding.Table{X: matrix.New(3, 5)})
	labels := write("labels.csv", &embedding.Table{Columns: e.Columns})
	few := write("few.npz", &embedding.Table{X: e.X.RowRange(0, 4)})
	for want, args := range map[string][]string{
		"the embeddings of " + short + " have 5 numbers, but ": {short},
		"has labels but no embeddings":                         {labels},
		`no column of labels "kind"`:                           {filepath.Join(tmp, "E.parquet"), "--column", "kind"},
		"18 labels in":                                         {few, "--labels", labels},
	} {
		code, _, stderr := runArgs(t, append([]string{"search", photo, "--run", run, "--embeddings"}, args...)...)
		if code != exitFailure || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %s", args, code, stderr)
		}
	}
}

func TestSearchUsage(t *testing.T) {
	for want, args := range map[string]string{
		"missing argument PHOTO":       "--run r --in d",
		"missing --in, or --embedding": "a.jpg --run r",
		"--labels does not apply to":   "a.jpg --run r --in d --labels y.csv",
		"--neighbours 0":               "a.jpg --run r --in d --neighbours 0",
		"--scratch 0":                  "a.jpg --run r --in d --scratch 0",
		`unknown distance "hamming"`:   "a.jpg --run r --in d --distance hamming",
	} {
		code, _, stderr := runArgs(t, append([]string{"search"}, strings.Fields(args)...)...)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s", args, code, stderr)
		}
	}
}
