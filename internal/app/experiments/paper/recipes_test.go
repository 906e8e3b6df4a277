package paper

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// fakePeer is a script instead of bench/recipes.py: it writes start and test as embeddings, keeps
// the given epoch, and copies its job to the folder jobs.
type fakePeer struct {
	dir string
}

func newFakePeer(t *testing.T, start, test *matrix.Dense, kept int) *fakePeer {
	t.Helper()
	if _, err := exec.LookPath("/bin/sh"); err != nil {
		t.Skip(err)
	}
	f := &fakePeer{t.TempDir()}
	for name, x := range map[string]*matrix.Dense{startFile: start, testFile: test} {
		err := atomic.WriteFile(filepath.Join(f.dir, name), func(w io.Writer) error { return embedding.WriteNPY(w, x) })
		if err != nil {
			t.Fatal(err)
		}
	}
	said := fmt.Sprintf(`{"epochs": [{"epoch": 1, "steps": 9, "images": 288, "loss": 2, "margin": 0.5}], "kept": %d,
"seconds": 3, "parameters": 7, "threads": 2, "versions": {"torch": "1.13", "numpy": "1.24"}}`, kept)
	script := `to=$(dirname "$1") && cd "$(dirname "$0")" && cp start.npy test.npy "$to" && test -s "$to/train.u8" &&
cp "$1" "job-$$.json" && cat > "$to/result.json" <<'END'
` + said + "\nEND\n"
	if err := os.WriteFile(f.path(), []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fakePeer) path() string { return filepath.Join(f.dir, "peer.sh") }
func (f *fakePeer) peer() Peer   { return Peer{Python: "/bin/sh", Script: f.path()} }

// jobs are the jobs of the script, by recipe.
func (f *fakePeer) jobs(t *testing.T) map[string]peerJob {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(f.dir, "job-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]peerJob{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		var j peerJob
		if err == nil {
			err = json.Unmarshal(text, &j)
		}
		if err != nil {
			t.Fatal(err)
		}
		out[j.Recipe] = j
	}
	return out
}

// recipesSide is the side of the images in these tests; the network's own is another.
const recipesSide = 24

// recipesOptions returns the options of a short run of coins, and the embeddings of its test part
// by the network before training.
func recipesOptions(t *testing.T) (Options, *matrix.Dense) {
	t.Helper()
	home := writeCoins(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	network := filepath.Join("..", "..", "..", "network", "onnxnet", "testdata", "residual.onnx")
	m, _, err := run.Import(network, "", run.DataConfig{Size: recipesSide})
	if err != nil {
		t.Fatal(err)
	}
	e := embedCoins(t, home, m)
	set := append(slices.Clone(shortRuns), "network.pretrained="+network, fmt.Sprintf("data.size=%d", recipesSide))
	return Options{Dir: t.TempDir(), Seeds: 1, Seed: 1, Home: home, Minutes: 3, Set: set}, e.X
}

// TestRecipesRow runs a row with a script instead of the recipes: the script gets kindred's
// division and size, and its embeddings are scored like kindred's own.
func TestRecipesRow(t *testing.T) {
	o, x := recipesOptions(t)
	f := newFakePeer(t, x, x, 1)
	o.Peer = f.peer()
	e := Find("recipes-coins")
	out, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	jobs := f.jobs(t)
	for _, r := range recipes() {
		j := jobs[r.name]
		if j.Size != recipesSide || j.Seconds != 180 || j.Seed != 1 || j.Epochs != 1 || j.Test.Images != x.Rows ||
			j.Train.Images != len(j.Train.Labels) || j.Validation.Images != len(j.Validation.Labels) ||
			j.Train.Images+j.Validation.Images != 32 || j.Validation.Images == 0 || j.Test.Labels != nil {
			t.Errorf("%s: %+v", r.name, j)
		}
		s := out.Arms[out.e.arm(r.arm)].Settled[0]
		if s.Size != recipesSide || s.Kept != 1 || s.Epochs != 1 || s.Steps != 9 || s.Seconds != 3 ||
			s.Peer != "PyTorch 1.13, NumPy 1.24, 2 threads" {
			t.Errorf("%s: %+v", r.arm, s)
		}
		if left, _ := filepath.Glob(filepath.Join(o.Dir, RunFolder(r.arm, 1), peerFolder, "*"+pixelsExt)); left != nil {
			t.Errorf("%s left its pixels: %v", r.arm, left)
		}
	}
	// Equal embeddings have equal scores, whoever wrote them.
	for _, key := range []string{"test_recall@1", "test_map@r"} {
		v := out.measure("ArcFace", key).Values
		if !slices.Equal(v, out.measure("Hard triplets", key).Values) || v[0] >= 99 || v[0] <= 0 {
			t.Errorf("%s: %v", key, v)
		}
	}
	if out.Minutes != 3 || len(out.Claims) != len(recipes()) {
		t.Errorf("%v minutes, %d claims", out.Minutes, len(out.Claims))
	}
	table, err := FormatTables(RecipesTable, filepath.Dir(o.Dir))
	if err != nil || !strings.Contains(table, "not run") {
		t.Errorf("%v, %s", err, table)
	}
	page := defaultsPage([]*Outcome{out})
	for _, want := range []string{"| kindred over ArcFace |", "| coins by denomination | 3 | kindred | ",
		"PyTorch 1.13, NumPy 1.24, 2 threads", "Not run: groceries by product; birds by species."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	// A finished run is kept; with other minutes it is another run.
	o.Peer.Script = filepath.Join(o.Dir, "gone.sh")
	if again, err := Reproduce(t.Context(), e, o); err != nil || again.Took != out.Took {
		t.Errorf("again: %v", err)
	}
	o.Minutes = 4
	if _, err := Reproduce(t.Context(), e, o); err == nil || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("other minutes: %v", err)
	}
}

// TestRecipesUntrained checks a recipe that ends with the network before training, which has
// its own image size, as in kindred train.
func TestRecipesUntrained(t *testing.T) {
	o, x := recipesOptions(t)
	o.Peer, o.Arms = newFakePeer(t, x, x, 0).peer(), []string{untrainedArm, "ArcFace"}
	out, err := Reproduce(t.Context(), Find("recipes-coins"), o)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := out.Arms[0], out.Arms[1]; !slices.Equal(a.Measures[0].Values, b.Measures[0].Values) ||
		a.Settled[0].Size != b.Settled[0].Size || b.Settled[0].Kept != 0 {
		t.Errorf("untrained %+v, ArcFace %+v", a, b)
	}
}

// TestRecipesRefused checks which scripts and options are refused.
func TestRecipesRefused(t *testing.T) {
	o, x := recipesOptions(t)
	e := Find("recipes-coins")
	other := matrix.New(x.Rows, x.Cols)
	for i := range other.Data {
		other.Data[i] = -x.Data[i]
	}
	few := matrix.New(2, x.Cols)
	set := func(setting string) func(o *Options) {
		return func(o *Options) { o.Set = append(slices.Clone(o.Set), setting) }
	}
	for says, change := range map[string]func(*Options){
		"name it by --peer":       func(o *Options) { o.Peer.Script = "" },
		"minutes is -1":           func(o *Options) { o.Minutes = -1 },
		"before the first step":   func(o *Options) { o.Minutes, o.Arms = 1e-6, []string{kindredArm} },
		"of the script is not":    func(o *Options) { o.Peer = newFakePeer(t, other, x, 1).peer() },
		"32 rows of float32":      func(o *Options) { o.Peer = newFakePeer(t, x, few, 1).peer() },
		"peer /bin/sh":            func(o *Options) { o.Peer.Script = "none.sh" },
		"need an ONNX file":       set("network.pretrained=m.pth"),
		"has no validation part,": set("data.validation=none"),
	} {
		o := o
		o.Dir, o.Arms, o.Peer = t.TempDir(), []string{"Hard triplets"}, newFakePeer(t, x, x, 1).peer()
		change(&o)
		if _, err := Reproduce(t.Context(), e, o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
	}
	for _, change := range []Options{{Minutes: 1}, {Peer: Peer{Script: "x"}}} {
		if _, err := Reproduce(t.Context(), Find("mnist"), change); err == nil ||
			!strings.Contains(err.Error(), "has no minutes") {
			t.Errorf("another experiment: %v", err)
		}
	}
}

// TestTrainUntil ends a run in its second epoch with its best weights.
func TestTrainUntil(t *testing.T) {
	o, _ := recipesOptions(t)
	e := Find("recipes-coins")
	cfg, err := e.config(&e.Arms[0], 1, append(slices.Clone(o.Set), "train.epochs=5"))
	if err != nil {
		t.Fatal(err)
	}
	limited, stop := context.WithCancel(t.Context())
	opts := run.Options{Dir: filepath.Join(t.TempDir(), "run"), Home: o.Home, Observe: func(ev train.Event) {
		if ev.Stage == train.Stepped && ev.Epoch == 2 && ev.Step == 2 {
			stop()
		}
	}}
	res, err := trainUntil(t.Context(), limited, cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.History) != 2 || res.History[1].Steps != 2 || len(res.Scores) == 0 {
		t.Errorf("%d epochs, the last of %d steps, scores %v", len(res.History), res.LastEpoch().Steps, res.Scores)
	}
	if _, err := run.Load(opts.Dir); err != nil {
		t.Error(err)
	}
}
