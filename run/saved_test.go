package run

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// save writes an untrained network with the given remarks and returns its folder.
func save(t *testing.T, in nn.Shape, meta map[string]string) string {
	t.Helper()
	spec, err := zoo.Network("mlp", zoo.Options{Input: in, Width: 4, Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	spec.Meta = meta
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := net.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// How a saved network's images are prepared: as the caller says, as its remarks
// say, and what is left is assumed and said.
func TestSaved(t *testing.T) {
	square := nn.Shape{H: 12, W: 12, C: 1}
	for _, c := range []struct {
		name  string
		meta  map[string]string
		file  string
		given DataConfig
		want  DataConfig
		note  string
	}{
		{"nothing known", nil, "", DataConfig{}, DataConfig{Size: 12, Channels: 1, Pixels: "unit", Fit: "stretch"},
			"unit is assumed"},
		{"remarks", map[string]string{"pixels": "inverted", "fit": "cover", "shorter": "14"}, nn.WeightsFile,
			DataConfig{}, DataConfig{Size: 12, Channels: 1, Pixels: "inverted", Fit: "cover", Shorter: 14}, ""},
		{"the caller", map[string]string{"pixels": "inverted", "fit": "cover", "shorter": "14"}, nn.SpecFile,
			DataConfig{Size: 12, Pixels: "clip", Shorter: 13},
			DataConfig{Size: 12, Channels: 1, Pixels: "clip", Fit: "cover", Shorter: 13}, ""},
	} {
		m, notes, err := Import(filepath.Join(save(t, square, c.meta), c.file), "", c.given)
		if err != nil || m.Config.Data != c.want || (len(notes) > 0) != (c.note != "") ||
			!strings.Contains(strings.Join(notes, " "), c.note) {
			t.Errorf("%s: %+v, notes %q, %v", c.name, m, notes, err)
			continue
		}
		heard := []int{}
		m.Config.Eval.Batch = 10
		m.Progress = func(done, total int) { heard = append(heard, done, total) }
		e, err := m.Embed(t.Context(), newBlobs(4, 6, 9).All())
		if err != nil || e.X.Rows != 24 || e.X.Cols != 3 || !slices.Equal(heard, []int{10, 24, 20, 24, 24, 24}) {
			t.Errorf("%s: %v, heard %v", c.name, err, heard)
		}
	}
	m, _, err := Import(save(t, nn.Shape{H: 1, W: 1, C: 6}, nil), "", DataConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := m.Embed(t.Context(), newFeatures(4, 6, 6).All()); err != nil || e.X.Cols != 3 {
		t.Errorf("of features: %v", err)
	}
	for want, of := range map[string]func() (string, DataConfig){
		"takes images of 12 x 12 x 1": func() (string, DataConfig) {
			return save(t, square, nil), DataConfig{Size: 13}
		},
		"takes images of 8 x 12 x 1": func() (string, DataConfig) {
			return save(t, nn.Shape{H: 8, W: 12, C: 1}, nil), DataConfig{}
		},
		"data.pixels": func() (string, DataConfig) {
			return save(t, square, map[string]string{"pixels": "loud"}), DataConfig{}
		},
		`shorter is "x"`: func() (string, DataConfig) {
			return save(t, square, map[string]string{"shorter": "x"}), DataConfig{}
		},
		"holds no network": func() (string, DataConfig) { return t.TempDir(), DataConfig{} },
	} {
		dir, d := of()
		_, _, err := Import(dir, "", d)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if none := want == "holds no network"; errors.Is(err, fs.ErrNotExist) != none {
			t.Errorf("%v wraps fs.ErrNotExist: %v", err, !none)
		}
	}
}
