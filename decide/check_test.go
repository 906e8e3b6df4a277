package decide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
)

// readEarlierFiles are calibrations that earlier versions wrote: of the first one, and of the first with a
// closed set, alone and beside an open one.
func readEarlierFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		if out[filepath.Base(f)], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestEarlierCalibrationsAreRead(t *testing.T) {
	for name, file := range readEarlierFiles(t) {
		c, err := Read(bytes.NewReader(file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := c.CheckNetwork(embedding.Network{}, c.Distance.String(), c.Dim); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhatIsMadeIsRead: the ranges leave room for every calibration, of embeddings of any scale.
func TestWhatIsMadeIsRead(t *testing.T) {
	for _, by := range []eval.Distance{eval.Euclidean, eval.Cosine, eval.Dot} {
		for _, scale := range []float64{1e-15, 1e-3, 1, 1e9, 1e17} {
			for seed := range uint64(4) {
				x, labels := drawClusters(seed, 10+int(seed), 2+int(seed), 3)
				for i := range x.Data {
					x.Data[i] *= float32(scale)
				}
				c, err := Calibrate(t.Context(), x, labels, Options{Distance: by, Seed: seed})
				if err != nil {
					t.Fatal(by, scale, seed, err)
				}
				items := LabelledEmbeddings{X: x, Labels: labels}
				if z, err := CalibrateClosed(t.Context(), items, items, Options{Distance: by}); err == nil {
					c.Closed = z.Closed
					if _, err := Read(strings.NewReader(encodeText(t, z))); err != nil {
						t.Errorf("%v, scale %g, seed %d, closed: %v", by, scale, seed, err)
					}
				}
				if _, err := Read(strings.NewReader(encodeText(t, c))); err != nil {
					t.Errorf("%v, scale %g, seed %d: %v", by, scale, seed, err)
				}
			}
		}
	}
}

// TestEveryNumberHasARange: each number of a calibration is refused by its name where it is
// 1e300 or -1e300, and each count where it is below 0 or huge; the seed alone may be any.
func TestEveryNumberHasARange(t *testing.T) {
	all := readEarlierFiles(t)
	x, labels := drawClusters(1, 12, 3, 2)
	c, err := Calibrate(t.Context(), x, labels, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all["now"] = []byte(encodeText(t, c))
	for file, good := range all {
		decoder := json.NewDecoder(bytes.NewReader(good))
		decoder.UseNumber()
		var document any
		if err := decoder.Decode(&document); err != nil {
			t.Fatal(err)
		}
		tries := 0
		visitNumbers(document, "", func(name string, v json.Number, set func(any)) {
			values := []string{"1e300", "-1e300"}
			if name == "format" || name == "seed" || strings.HasPrefix(name, "vote.") ||
				strings.HasSuffix(name, "vote.c") || strings.HasSuffix(name, "vote.classes") { // of the first only
				return
			}
			if _, err := strconv.Atoi(string(v)); err == nil && isCount(name) {
				values = []string{"-1", strconv.Itoa(math.MaxInt64)}
			}
			for _, value := range values {
				set(json.Number(value))
				changed, err := json.Marshal(document)
				if err != nil {
					t.Fatal(err)
				}
				_, err = Read(bytes.NewReader(changed))
				if err == nil || !strings.Contains(err.Error(), name) ||
					!strings.Contains(err.Error(), "must be ") || !strings.Contains(err.Error(), "kindred calibrate") {
					t.Errorf("%s: %s is %s: %v", file, name, value, err)
				}
				tries++
			}
			set(v)
		})
		if tries < 50 {
			t.Errorf("%s: %d tries", file, tries)
		}
	}
}

// isCount tells names of whole numbers.
func isCount(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch last {
	case "dim", "classes", "photos", "given", "copies", "groups", "items", "known":
		return !strings.Contains(name, "vote.")
	}
	return strings.Contains(last, "_class[") || strings.Contains(last, "_fold[") || strings.Contains(last, "_group[")
}

// visitNumbers visits every number of a document, of long lists the ends and the middle.
func visitNumbers(v any, name string, visit func(name string, v json.Number, set func(any))) {
	child := func(v any, name string, set func(any)) {
		if n, ok := v.(json.Number); ok {
			visit(name, n, set)
			return
		}
		visitNumbers(v, name, visit)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			child(inner, strings.TrimPrefix(name+"."+key, "."), func(to any) { v[key] = to })
		}
	case []any:
		for i, inner := range v {
			if i < 2 || i == len(v)/2 || i >= len(v)-1 {
				child(inner, fmt.Sprintf("%s[%d]", name, i), func(to any) { v[i] = to })
			}
		}
	}
}

// TestCalibrationsThatAreNone: what is inconsistent, of the wrong length or not in order.
func TestCalibrationsThatAreNone(t *testing.T) {
	all := readEarlierFiles(t)
	for _, c := range []struct{ file, old, changed, want string }{
		{"first-euclidean.json", `"photos":42`, `"photos":43`, "given is 42"},
		{"first-euclidean.json", `"photos":42,"given":42`, `"photos":41,"given":42`, "per_class is 3: must be at most " +
			"2.928571429"},
		{"first-euclidean.json", `"copies":0`, `"copies":1`, "copies is 1: must be 0"},
		{"first-euclidean.json", `"pairs":91`, `"pairs":92`, "pairs is 92: must be from 0 to 91"},
		{"first-euclidean.json", `"distances":[`, `"distances":[-0.001,`, "distances[0] is -0.001: must be " +
			"from 0"},
		{"first-euclidean.json", `"distances":[`, `"distances":[1e9,`, "distances[1] is 0.4806434, but the number " +
			"before it"},
		{"first-euclidean.json", `"distances":[`, `"distances":[0.1,`, "the number of false_match is"},
		{"first-euclidean.json", `"distances":[`, `"without":[`, "the number of distances is 0"},
		{"first-euclidean.json", `"distance":"euclidean"`, `"distance":"cosine"`, "curve.distance["},
		{"first-euclidean.json", `"tail":2.`, `"tail":0.000002`, "tail is "},
		{"both-cosine.json", `"right":`, `"right":1.5,"left":`, "closed.right is 1.5: must be from 0 to 1"},
		{"closed-dot.json", `"per_class":3`, `"per_class":4`, "per_class is 4: must be 3"},
		{"closed-dot.json", `"items":42`, `"items":1`, "closed.items is 1"},
		{"closed-dot.json", `"own":[`, `"own":[1,`, "the number of closed.own is 43: must be 42"},
	} {
		text := strings.Replace(string(all[c.file]), c.old, c.changed, 1)
		if text == string(all[c.file]) {
			t.Fatalf("%s has no %s", c.file, c.old)
		}
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in place of %s: %v, want %q", c.changed, c.old, err, c.want)
		}
	}
}

// TestWithoutANetwork: a calibration of embeddings whose network is unknown fits those of any network.
func TestWithoutANetwork(t *testing.T) {
	c, err := Read(bytes.NewReader(readEarlierFiles(t)["first-euclidean.json"]))
	if err != nil || c.Source != (embedding.Network{}) {
		t.Fatal(c, err)
	}
	if err := c.CheckNetwork(embedding.Network{}, "euclidean", 4); err != nil {
		t.Error(err)
	}
	if err := c.CheckNetwork(embedding.Network{Fingerprint: "abc", Name: "birds"}, "euclidean", 4); err != nil {
		t.Error(err)
	}
}
