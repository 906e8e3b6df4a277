package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/network/textencoder"
	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/serve/api"
)

// towerDir is a small text tower, with embeddings of 12 numbers.
const towerDir = "../../internal/network/textencoder/testdata/clip"

// saveImageTower saves a network for photos whose embeddings have as many numbers as those of the text tower.
func saveImageTower(t *testing.T, dim int) string {
	t.Helper()
	spec := &nn.Spec{Name: "image tower", Input: nn.Shape{H: 8, W: 8, C: 3}, Layers: []nn.Layer{
		{Kind: nn.Flatten}, {Kind: nn.Dense, Name: "fc", Out: dim}}}
	net, err := nn.New(spec, nn.Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := net.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// copyTower is a copy of the text tower that may be changed.
func copyTower(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tower")
	if err := os.CopyFS(dir, os.DirFS(towerDir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// makeTextTower makes the folder of a text tower with embeddings of dim numbers.
func makeTextTower(t *testing.T, dir string, dim int) {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(filepath.Dir(here), filepath.FromSlash(towerDir)))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "model.safetensors")
	f, err := safetensors.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	p := f.Tensor("text_projection.weight")
	width := p.Shape[1]
	values := make([]float32, dim*width)
	for i := range values {
		values[i] = float32((i*7)%11) - 5
	}
	*p = safetensors.Float32(p.Name, []int{dim, width}, values)
	var b bytes.Buffer
	if err := errors.Join(f.Write(&b), os.WriteFile(path, b.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	rewriteConfig(t, dir, func(config string) string {
		return strings.Replace(config, `"projection_dim": 12`, fmt.Sprintf(`"projection_dim": %d`, dim), 1)
	})
}

// rewriteConfig changes the configuration of a tower.
func rewriteConfig(t *testing.T, dir string, change func(string) string) {
	t.Helper()
	path := filepath.Join(dir, "config.json")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(change(string(text))), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// searchIndex runs kindred index search with --json.
func searchIndex(t *testing.T, args ...string) (res lookup.Results) {
	t.Helper()
	code, stdout, stderr := runArgs(t, append([]string{"index", "search", "--json"}, args...)...)
	if code != exitOK {
		t.Fatalf("%v: status %d, %s", args, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &res); err != nil {
		t.Fatal(err)
	}
	return res
}

// checkRefused runs a command that must fail and say something.
func checkRefused(t *testing.T, status int, want string, args ...string) {
	t.Helper()
	code, _, stderr := runArgs(t, args...)
	if code != status || !strings.Contains(stderr, want) {
		t.Errorf("%v: status %d, want %d and %q: %s", args, code, status, want, stderr)
	}
}

func unitVector(v []float32) []float64 {
	out, sum := make([]float64, len(v)), 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i, x := range v {
		out[i] = float64(x) / math.Sqrt(sum)
	}
	return out
}

// orderByCosine orders the items of an index by their cosine with a vector, the largest first.
func orderByCosine(t *testing.T, dir string, v []float64) (ids []string, vectors map[string][]float64) {
	t.Helper()
	x, err := index.Open(dir, index.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	vectors, cosine := map[string][]float64{}, map[string]float64{}
	for it, err := range x.Store(true).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids, vectors[it.ID] = append(ids, it.ID), unitVector(it.Vector)
		for i := range v {
			cosine[it.ID] += v[i] * vectors[it.ID][i]
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		if cosine[a] > cosine[b] {
			return -1
		}
		return 1
	})
	return ids, vectors
}

func neighbourIDs(res lookup.Results, query int) (ids []string) {
	for _, n := range res.Queries[query].Neighbours {
		ids = append(ids, n.ID)
	}
	return ids
}

// TestSearchByWords: words, and sums of photos and words, find the items whose embeddings are nearest to theirs.
func TestSearchByWords(t *testing.T) {
	photos, ix := writePhotos(t), filepath.Join(t.TempDir(), "ix")
	net := saveImageTower(t, 12)
	mustRun(t, "index", "create", "--network", net, "--data", photos, "--out", ix, "--words", towerDir)
	tower, err := textencoder.Open(towerDir)
	if err != nil {
		t.Fatal(err)
	}
	said, err := tower.Embed(t.Context(), []string{"a red boot", "with laces"})
	if err != nil {
		t.Fatal(err)
	}
	boot, laces := unitVector(said.Row(0)), unitVector(said.Row(1))
	want, vectors := orderByCosine(t, ix, boot)
	photo := filepath.Join(photos, "c1", "2.png")
	res := searchIndex(t, ix, photo, "a red boot", photo, "+", "with laces", "-", "a red boot", "--text", "x.jpg",
		"--neighbours", "5")
	var names []string
	for _, q := range res.Queries {
		names = append(names, filepath.Base(q.Query))
	}
	if want := []string{"2.png", "a red boot", "2.png + with laces - a red boot", "x.jpg"}; !slices.Equal(names, want) {
		t.Fatalf("%q", names)
	}
	if got := neighbourIDs(res, 1); !slices.Equal(got, want[:5]) {
		t.Errorf("words: %v, want %v", got, want[:5])
	}
	var sum []float64
	for i, v := range vectors["c1/2.png"] {
		sum = append(sum, v+laces[i]-boot[i])
	}
	others, _ := orderByCosine(t, ix, sum)
	others = slices.DeleteFunc(others, func(id string) bool { return id == "c1/2.png" }) // the photo itself
	if got := neighbourIDs(res, 2); !slices.Equal(got, others[:5]) ||
		!slices.Equal(res.Queries[2].QueryIDs, []string{"c1/2.png"}) {
		t.Errorf("a sum: %v, want %v; itself %v", got, others[:5], res.Queries[2].QueryIDs)
	}
	table, _ := searchFor(t, photo, "+", "with laces", "-", "a red boot", "--network", net, "--in", photos, "--words",
		towerDir, "--neighbours", "17")
	if got := neighbourPaths(table.Queries[0]); len(got) != 17 || slices.Contains(got, photo) ||
		!slices.Equal(table.Queries[0].QueryIDs, []string{photo}) {
		t.Errorf("a sum among photos: %v, itself %v", got, table.Queries[0].QueryIDs)
	}

	// The same without an index.
	table, _ = searchFor(t, "a red boot", "--network", net, "--in", photos, "--words", towerDir, "--neighbours", "5")
	var got []string
	for _, n := range table.Queries[0].Neighbours {
		rel, err := filepath.Rel(photos, n.Path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.ToSlash(rel))
	}
	if !slices.Equal(got, want[:5]) {
		t.Errorf("photos: %v, want %v", got, want[:5])
	}
	for _, c := range []struct{ want, args string }{
		{"+ stands between two photos", "boot +"}, {"--words tower applies to words", photo + " --words tower"},
		{"an argument is empty", ""},
		{"apply to photos alone", "boot --least 0.5"}, {"apply to photos alone", "boot --strangers 0.5"},
	} {
		checkRefused(t, exitUsage, c.want, append([]string{"index", "search", ix}, strings.Split(c.args, " ")...)...)
	}
	checkRefused(t, exitFailure, "the sum is zero", "index", "search", ix, "boot", "-", "boot")
	checkRefused(t, exitFailure, "+ and - join single photos", "index", "search", ix, "boot", "+",
		filepath.Join(photos, "c1"))
	checkRefused(t, exitUsage, "--distance euclidean: want cosine for words and sums", "search", "boot",
		"--network", net,
		"--in", photos,
		"--distance", "euclidean", "--words", towerDir)
	checkRefused(t, exitUsage, "--out o applies to photos alone", "search", "boot", "--network", net, "--in", photos,
		"--words", towerDir, "--out", "o")
}

// TestTowerOfAnIndex: an index remembers its text tower, and says why it takes no words.
func TestTowerOfAnIndex(t *testing.T) {
	photos, dir := writePhotos(t), t.TempDir()
	net, tower := saveImageTower(t, 12), copyTower(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	create := func(name string, more ...string) []string {
		return append([]string{"index", "create", "--data", photos, "--out", in(name)}, more...)
	}
	mustRun(t, create("with", "--network", net, "--words", tower)...)
	mustRun(t, create("plain", "--network", net)...)
	searchIndex(t, in("with"), "a red boot")
	if _, said, _ := runArgs(t, "index", "info", in("with")); !strings.Contains(said, tower) {
		t.Error(said)
	}
	searchIndex(t, in("plain"), "a red boot", "--words", tower)
	checkRefused(t, exitFailure, "remembers no text tower: --words FOLDER names", "index", "search", in("plain"),
		"a red boot")

	// Moved, and changed.
	moved := tower + "-moved"
	if err := os.Rename(tower, moved); err != nil {
		t.Fatal(err)
	}
	checkRefused(t, exitFailure, "put it back, or name its new folder", "index", "search", in("with"), "a red boot")
	searchIndex(t, in("with"), "a red boot", "--words", moved)
	config := filepath.Join(moved, "config.json")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, append(text, ' '), 0o666); err != nil {
		t.Fatal(err)
	}
	checkRefused(t, exitFailure, "is not the text tower of", "index", "search", in("with"), "a red boot", "--words",
		moved)

	// Other networks.
	checkRefused(t, exitFailure, "makes embeddings of 12 numbers, but",
		create("seven", "--network", saveImageTower(t, 7),
			"--words", towerDir)...)
	if _, err := os.Stat(in("seven")); err == nil {
		t.Error("a failed index stays")
	}
	_, run := searchRun(t)
	checkRefused(t, exitUsage, "--words "+towerDir+" applies to --network", create("run", "--run", run, "--words",
		towerDir)...)
	mustRun(t, create("run", "--run", run)...)
	checkRefused(t, exitUsage, "was trained here", "index", "search", in("run"), "a red boot", "--words", towerDir)
	checkRefused(t, exitUsage, "was trained here", "search", "a red boot", "--run", run, "--in", photos, "--distance",
		"cosine", "--words", towerDir)
	checkRefused(t, exitUsage, `"a red boot" is not a file, so it is looked up as words: --words is missing`, "search",
		"a red boot", "--network", net, "--in", photos)
	checkRefused(t, exitFailure, "no.jpg", "search", "no.jpg", "--network", net, "--in", photos)
}

// TestTowerInTheFolderOfTheNetwork: a folder with both towers needs no flag.
func TestTowerInTheFolderOfTheNetwork(t *testing.T) {
	photos, dir := writePhotos(t), t.TempDir()
	both, err := filepath.Abs("../../internal/network/textencoder/testdata/openclip")
	if err != nil {
		t.Fatal(err)
	}
	net := saveImageTower(t, 12)
	if err := os.CopyFS(net, os.DirFS(both)); err != nil {
		t.Fatal(err)
	}
	// The network's weights have the name that comes first, so they have to be elsewhere.
	mustRun(t, "export", "--network", net, "--out", filepath.Join(net, "image.onnx"))
	for _, name := range []string{nn.WeightsFile, nn.SpecFile} {
		if err := os.Remove(filepath.Join(net, name)); err != nil {
			t.Fatal(err)
		}
	}
	ix := filepath.Join(dir, "ix")
	mustRun(t, "index", "create", "--network", filepath.Join(net, "image.onnx"), "--data", photos, "--out", ix)
	if res := searchIndex(t, ix, "a red boot"); len(res.Queries) != 1 {
		t.Error(res)
	}
}

// TestIdentifyByWords: the labels are words, and the probabilities those of the cosines.
func TestIdentifyByWords(t *testing.T) {
	photos, ix := writePhotos(t), filepath.Join(t.TempDir(), "ix")
	net := saveImageTower(t, 12)
	mustRun(t, "index", "create", "--network", net, "--data", photos, "--out", ix, "--words", towerDir)
	_, vectors := orderByCosine(t, ix, make([]float64, 12))
	tower, err := textencoder.Open(towerDir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"boot", "sandal", "dog"}
	said, err := tower.Embed(t.Context(), []string{"my boot", "my sandal", "my dog"})
	if err != nil {
		t.Fatal(err)
	}
	photo := filepath.Join(photos, "c2", "3.png")
	for _, of := range [][]string{{"--index", ix}, {"--network", net, "--words", towerDir}} {
		args := append([]string{"identify", photo, "--choices", strings.Join(names, ","), "--template", "my {}",
			"--json"}, of...)
		code, stdout, stderr := runArgs(t, args...)
		var res choicesResult
		if err := json.Unmarshal([]byte(stdout), &res); code != exitOK || err != nil || len(res.Queries) != 1 ||
			len(res.Queries[0].Labels) != 3 || !res.Together {
			t.Fatalf("%v: status %d, %v: %s%s", args, code, err, stdout, stderr)
		}
		want, sum := map[string]float64{}, 0.0
		for i, name := range names {
			cosine := 0.0
			for k, v := range unitVector(said.Row(i)) {
				cosine += v * vectors["c2/3.png"][k]
			}
			want[name] = math.Exp(100 * cosine)
			sum += want[name]
		}
		last := 1.0
		for _, l := range res.Queries[0].Labels {
			if l.Probability > last || math.Abs(l.Probability-want[l.Label]/sum) > 1e-3 {
				t.Errorf("%+v, want %g", l, want[l.Label]/sum)
			}
			last = l.Probability
		}
	}
	code, stdout, stderr := runArgs(t, "identify", photo, filepath.Join(photos, "c1"), "--choices", "boot,dog",
		"--index", ix)
	if code != exitOK || strings.Count(stdout, "then ") != 7 || !strings.Contains(stderr, "they have no stated error") {
		t.Errorf("status %d: %s%s", code, stdout, stderr)
	}
	for _, c := range []struct{ want, args string }{
		{"want two labels or more", "--choices boot --index I"}, {"label 2 is \"\"", "--choices boot, --index I"},
		{"occur twice", "--choices boot,boot --index I"}, {"want {}", "--choices a,b --template photo --index I"},
		{"--choices needs --network", "--choices a,b"},
		{"--template does not apply to an index", "--template {} --index I"},
		{"--fpir does not apply to labels as words", "--choices a,b --index I --fpir 0.1"},
		{"do not apply to an index", "--choices a,b --index I --network " + net},
	} {
		args := append([]string{"identify", photo}, strings.Fields(strings.ReplaceAll(c.args, " I", " "+ix))...)
		checkRefused(t, exitUsage, c.want, args...)
	}
}

// TestServeByWords: the server finds by words what the command finds, and says why an index takes none.
func TestServeByWords(t *testing.T) {
	photos, dir, tower := writePhotos(t), t.TempDir(), copyTower(t)
	net, with, plain := saveImageTower(t, 12), filepath.Join(dir, "with"), filepath.Join(dir, "plain")
	mustRun(t, "index", "create", "--network", net, "--data", photos, "--out", with, "--words", tower)
	mustRun(t, "index", "create", "--network", net, "--data", photos, "--out", plain)
	search := func(s servingInfo, q api.Search) (*api.Found, error) {
		c, err := api.NewClient(s.URL, api.ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return c.Search(t.Context(), q)
	}
	s, stop := startServe(t, with, "--read-only")
	got, err := search(s, api.Search{Text: "a red boot", K: 5})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, n := range got.Neighbours {
		ids = append(ids, n.ID)
	}
	if want := neighbourIDs(searchIndex(t, with, "a red boot", "--neighbours", "5"), 0); !slices.Equal(ids, want) {
		t.Errorf("%v, want %v", ids, want)
	}
	stop()
	s, _ = startServe(t, plain, "--read-only")
	_, err = search(s, api.Search{Text: "boot"})
	if err == nil || !strings.Contains(err.Error(), "remembers no text tower") {
		t.Error(err)
	}
	// Without its tower an index is served all the same.
	if err := os.RemoveAll(tower); err != nil {
		t.Fatal(err)
	}
	s, stop = startServe(t, with, "--read-only")
	_, err = search(s, api.Search{Text: "boot"})
	if err == nil || !strings.Contains(err.Error(), "the log of the server") ||
		strings.Contains(err.Error(), tower) {
		t.Error(err)
	}
	if _, log := stop(); !strings.Contains(log, "put it back") || !strings.Contains(log, tower) {
		t.Error(log)
	}
}

// TestFolderWithBothTowers: a folder of Hugging Face is the network and the text tower of an index, without a flag.
func TestFolderWithBothTowers(t *testing.T) {
	photos, dir, both := writePhotos(t), t.TempDir(), copyTower(t)
	ix := filepath.Join(dir, "ix")
	spec, err := zoo.Network("clip_vit_b32", zoo.Options{Input: nn.Shape{H: 16, W: 16, C: 3}, Width: 64, Patch: 8,
		Depth: 2, Dim: 12})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 8})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(both, nn.WeightsFile)
	f, err := safetensors.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Tensors = append(f.Tensors, netcases.HuggingFaceCLIP(net)...)
	write := func() {
		t.Helper()
		var b bytes.Buffer
		if err := errors.Join(f.Write(&b), os.WriteFile(path, b.Bytes(), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	write()
	rewriteConfig(t, both, func(config string) string {
		return `{"model_type": "clip", "projection_dim": 12, "vision_config": {"hidden_size": 64, "num_attention_heads": 1}, "text_config": ` +
			config + `}`
	})
	mustRun(t, "index", "create", both, photos, "--out", ix)
	tower, err := textencoder.Open(both)
	if err != nil {
		t.Fatal(err)
	}
	said, err := tower.Embed(t.Context(), []string{"a red boot"})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := orderByCosine(t, ix, unitVector(said.Row(0)))
	if got := neighbourIDs(searchIndex(t, ix, "a red boot", "--neighbours", "5"), 0); !slices.Equal(got, want[:5]) {
		t.Errorf("%v, want %v", got, want[:5])
	}
	// Another image tower of the same sizes is not this index's.
	old := filepath.Join(dir, "old")
	if err := os.CopyFS(old, os.DirFS(both)); err != nil {
		t.Fatal(err)
	}
	norm := f.Tensor("vision_model.post_layernorm.bias")
	*norm = safetensors.Float32(norm.Name, norm.Shape, slices.Repeat([]float32{0.25}, 64))
	write()
	checkRefused(t, exitFailure, "norm.bias has other values", "index", "create", old, photos, "--out",
		filepath.Join(dir, "x"), "--words", both)
}
