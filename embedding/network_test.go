package embedding

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

func TestNetworksAreCompared(t *testing.T) {
	now := Network{Name: "a", Fingerprint: "k1:01", Preparation: "64 x 64"}
	before := Network{Name: "a", Fingerprint: "01", Preparation: "64 x 64"}
	with := func(n Network, change func(n *Network)) Network { change(&n); return n }
	for _, c := range []struct {
		what          string
		a, b          Network
		same, differs bool
	}{
		{"itself", now, now, true, false},
		{"another name", now, with(now, func(n *Network) { n.Name, n.Preparation = "b", "" }), true, false},
		{"another fingerprint", now, with(now, func(n *Network) { n.Fingerprint = "k1:02" }), false, true},
		{"unknown", now, Network{Name: "a"}, false, false},
		{"both unknown", Network{}, Network{}, false, false},
		{"a digest of files", before, before, true, false},
		{"another preparation of the same files", before, with(before, func(n *Network) { n.Preparation = "" }), false,
			true},
		{"of different versions", before, now, false, false},
		{"of a later version", now, with(now, func(n *Network) { n.Fingerprint = "k2:01" }), false, false},
	} {
		for _, p := range [][2]Network{{c.a, c.b}, {c.b, c.a}} {
			if p[0].IsSame(p[1]) != c.same || p[0].Differs(p[1]) != c.differs {
				t.Errorf("%s: same %v, differs %v", c.what, p[0].IsSame(p[1]), p[0].Differs(p[1]))
			}
		}
	}
	if s := with(now, func(n *Network) { n.Name = `C:\nets\m.onnx` }).String(); s != "m (64 x 64)" {
		t.Error(s)
	}
}

// byNetwork is a table of embeddings whose network is known.
func byNetwork() *Table {
	return &Table{X: matrix.FromSlice(2, 2, []float32{1, 2, 3, 4}), Files: []string{"a", "b"},
		Network: Network{Name: "net", Fingerprint: "k1:01", Preparation: "64 x 64, pixels \"unit\""}}
}

// TestNetworkInFiles: every format keeps the network, and the parts that are made of a table do.
func TestNetworkInFiles(t *testing.T) {
	dir := t.TempDir()
	for _, f := range standardFormats {
		want := byNetwork()
		path := filepath.Join(dir, "E"+f.Extension())
		if err := Write(path, want); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if err != nil || got.Network != want.Network || got.NetworkNote() != "" {
			t.Errorf("%s: %+v, %v", f, got, err)
			continue
		}
		labels := &Table{Columns: []Column{NewColumn("label", []string{"x", ""})}}
		with, err := got.WithLabels(labels)
		if err != nil || with.Network != want.Network || with.WithoutRows([]int{1}).Network != want.Network {
			t.Errorf("%s with labels: %+v, %v", f, with, err)
		}
		if chosen, err := with.Select("label"); err != nil || chosen.Network != want.Network {
			t.Errorf("%s with a column: %+v, %v", f, chosen, err)
		}
	}
	for _, ext := range []string{".csv", ".npy"} { // one file beside both
		if got, err := Read(filepath.Join(dir, "E"+ext)); err != nil || got.Network.Fingerprint != "k1:01" {
			t.Errorf("%s: %+v, %v", ext, got.Network, err)
		}
	}
}

// TestStaleNetworkFile: a file beside embeddings that were replaced, or one that says something else, is not used. The
// note says so.
func TestStaleNetworkFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "E.npy")
	beside := NetworkFile(path)
	if filepath.Base(beside) != "E.network.json" {
		t.Fatal(beside)
	}
	if err := Write(path, byNetwork()); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(beside)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		string(good): "", "{}": "describes no network", `{"lr": 1}`: "describes no network",
		strings.Repeat(" ", maxNetwork+1):               "describes no network",
		strings.Replace(string(good), "k1:01", "", 1):   "without a fingerprint",
		strings.Replace(string(good), "k1:", "\x01", 1): "describes no network",
	} {
		if err := os.WriteFile(beside, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if err != nil || !strings.Contains(got.NetworkNote(), want) || (got.Network.Fingerprint != "") != (want == "") {
			t.Errorf("%.40q: %+v, %v", text, got, err)
		}
	}
	if err := os.WriteFile(beside, good, 0o666); err != nil {
		t.Fatal(err)
	}
	other := byNetwork()
	other.X.Data[0], other.Network = 9, Network{}
	if err := Write(path, other); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil || got.Network != (Network{}) || !strings.Contains(got.NetworkNote(), "another content of E.npy") {
		t.Errorf("replaced: %+v, %v", got, err)
	}
	// Another network replaces the file beside.
	other.Network.Fingerprint = "k1:02"
	if err := Write(path, other); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path); err != nil || got.Network != other.Network {
		t.Errorf("written anew: %+v, %v", got, err)
	}
}

// TestWrongNetworkInside: metadata that are not a network's are an error that names them.
func TestWrongNetworkInside(t *testing.T) {
	for _, f := range []Standard{NPZ, Safetensors} {
		var b bytes.Buffer
		bad := byNetwork()
		bad.Network.Name = "a\nb"
		if err := f.Write(&b, bad); err == nil {
			t.Errorf("%s: a name of two lines is written", f)
		}
	}
	var b bytes.Buffer
	if err := Safetensors.Write(&b, byNetwork()); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(b.String(), "sum", "som", 1)
	_, err := Safetensors.Read(strings.NewReader(text), int64(len(text)))
	if err == nil || !strings.Contains(err.Error(), MetadataKey) {
		t.Error(err)
	}
}

// FuzzParseNetwork: what is read can be written, and is read again.
func FuzzParseNetwork(f *testing.F) {
	f.Add([]byte(`{"name": "a", "sum": "k1:00", "preparation": "64 x 64"}`))
	f.Add([]byte(`{"sum": ""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := ParseNetwork(text)
		if err != nil {
			return
		}
		again, err := n.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if len(again) > maxNetwork {
			return // escapes take more room
		}
		if m, err := ParseNetwork(again); err != nil || m != n || m.Differs(n) {
			t.Fatalf("%+v is read as %+v: %v", n, m, err)
		}
	})
}
