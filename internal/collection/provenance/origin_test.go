package provenance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
)

// newModel is a network for rows of two features, which makes vectors of three numbers.
func newModel(t *testing.T, seed uint64) *run.Model {
	t.Helper()
	spec := &nn.Spec{Input: nn.Shape{H: 1, W: 1, C: 2}, Layers: []nn.Layer{{Kind: nn.Dense, Name: "fc", Out: 3}}}
	net, err := nn.New(spec, nn.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return &run.Model{Config: run.Default(), Net: net}
}

// TestByFiles: the same files have the same digest, other contents another.
func TestByFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for path, text := range map[string]string{a: "weights", b: "others"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m := newModel(t, 1)
	of := func(file string) string {
		s, err := IdentityByFiles(m, file, false, "net")
		if err != nil || s.Name != "net" || s.Preparation != "" { // of features
			t.Fatalf("%+v, %v", s, err)
		}
		return s.Fingerprint
	}
	// printf weights | sha256sum
	if want := "9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c"; of(a) != want {
		t.Errorf("%s, want %s", of(a), want)
	}
	if of(a) == of(b) {
		t.Error("other files with the same digest")
	}
	if _, err := IdentityByFiles(m, filepath.Join(dir, "none"), false, "net"); err == nil {
		t.Error("a file that is not there")
	}
}

// TestSave: the network that an index carries is read again, with the origin that was recorded, and
// one of another length is refused.
func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ix")
	m := newModel(t, 1)
	n, err := SaveNetwork(m, dir, "mine")
	if err != nil || n.Name != "mine" || len(n.Fingerprint) != 67 {
		t.Fatalf("%+v, %v", n, err)
	}
	x, err := index.Create(dir, index.Config{Dim: 3, Network: n})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if of, err := IndexNetwork(x); err != nil || of != n.Network || of.Name != "mine" {
		t.Errorf("%+v, want %+v: %v", of, n, err)
	}
	back, err := LoadNetwork(x)
	if err != nil || back.Net.Spec().OutDim() != 3 {
		t.Fatalf("%v, %v", back, err)
	}
	if _, err := LoadNetworkFor(index.NetworkDir(dir), "db", 4); err == nil ||
		!strings.Contains(err.Error(), "those of db have 4: it is another network") {
		t.Error(err)
	}
	bare, err := index.Create(filepath.Join(t.TempDir(), "bare"), index.Config{Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	if m, err := LoadNetwork(bare); m != nil || err != nil {
		t.Errorf("the network of an index without one: %v, %v", m, err)
	}
}

func TestCheck(t *testing.T) {
	of := func(cols int) *embedding.Table { return &embedding.Table{X: matrix.New(1, cols)} }
	m := newModel(t, 1)
	if err := CheckTable(of(3), "E.npy", m, "it"); err != nil {
		t.Error(err)
	}
	if err := CheckTable(of(5), "E.npy", nil, ""); err != nil {
		t.Errorf("nothing is known of the network: %v", err)
	}
	for want, tab := range map[string]*embedding.Table{
		"E.npy has labels but no embeddings":                                                {},
		"the embeddings of E.npy have 5 numbers, but it makes 3: another network made them": of(5),
	} {
		if err := CheckTable(tab, "E.npy", m, "it"); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
