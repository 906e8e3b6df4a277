package eval

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

// writeFiles writes files of the given contents and returns their paths in order.
func writeFiles(t *testing.T, contents ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i, c := range contents {
		p := filepath.Join(dir, fmt.Sprintf("%02d.jpg", i))
		if err := os.WriteFile(p, []byte(c), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}

func photosOnLine(paths []string, at ...float32) PhotoSet {
	s := PhotoSet{X: matrix.FromSlice(len(at), 1, at)}
	if paths != nil {
		s.Path = func(i int) string { return paths[i] }
	}
	return s
}

func TestTheQueryItselfIsLeftOut(t *testing.T) {
	files := writeFiles(t, "one", "two", "six", "two", "TWO")
	link := filepath.Join(filepath.Dir(files[0]), "link.jpg")
	if err := os.Symlink(files[1], link); err != nil {
		t.Skip(err)
	}
	copied := writeFiles(t, "two", "new")
	g := photosOnLine(files, 0, 1, 2, 1, 1)
	rel := func(p string) string { // another way to write it
		wd, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		r, err := filepath.Rel(wd, p)
		if err != nil {
			t.Skip(err)
		}
		return r
	}
	for _, c := range []struct {
		name, path string
		at         float32
		self, row  string
	}{
		{"no photo of the gallery", copied[1], 1, "[]", "[1 3 4 0 2]"},
		{"a file of the gallery and its copy", files[1], 1, "[1 3]", "[4 0 2]"},
		{"by another path", rel(files[1]), 1, "[1 3]", "[4 0 2]"},
		{"by a link", link, 1, "[1 3]", "[4 0 2]"},
		{"a copy", copied[0], 1, "[1 3]", "[4 0 2]"},
		{"a file of the gallery that lies elsewhere today", files[2], 0, "[2]", "[0 1 3 4]"},
		{"no file, but the same embedding", "none.jpg", 2, "[2]", "[1 3 4 0]"},
	} {
		f, err := NearestPhotos(t.Context(), photosOnLine([]string{c.path}, c.at), g, 10, RankOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		slices.Sort(f[0].SelfRows)
		if fmt.Sprint(f[0].SelfRows) != c.self || fmt.Sprint(f[0].Row) != c.row || len(f[0].Value) != len(f[0].Row) {
			t.Errorf("%s: self %v, rows %v; want %s, %s", c.name, f[0].SelfRows, f[0].Row, c.self, c.row)
		}
	}
}

// Many copies do not take the places of the neighbours.
func TestCopiesTakeNoPlaces(t *testing.T) {
	const copies = 300
	contents, at := []string{}, []float32{}
	for range copies {
		contents, at = append(contents, "same"), append(at, 5)
	}
	for i := range 20 {
		contents, at = append(contents, fmt.Sprint("other ", i)), append(at, float32(6+i))
	}
	files := writeFiles(t, contents...)
	g := photosOnLine(files, at...)
	f, err := NearestPhotos(t.Context(), photosOnLine([]string{files[7], files[copies]}, 5, 6), g, 3, RankOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []int32{copies, copies + 1, copies + 2}
	if !slices.Equal(f[0].Row, want) || len(f[0].SelfRows) != copies || f[0].Value[0] != 1 {
		t.Errorf("rows %v, %d times itself", f[0].Row, len(f[0].SelfRows))
	}
	if len(f[1].Row) != 3 || f[1].Row[0] != 0 || !slices.Equal(f[1].SelfRows, []int{copies}) {
		t.Errorf("rows %v, itself %v", f[1].Row, f[1].SelfRows)
	}
}

func TestNearestWithoutFiles(t *testing.T) {
	g := photosOnLine(nil, 4, 1, 9)
	f, err := NearestPhotos(t.Context(), photosOnLine([]string{"q.jpg"}, 1.5), g, 2, RankOptions{})
	if err != nil || fmt.Sprint(f[0].Row) != "[1 0]" || f[0].SelfRows != nil {
		t.Errorf("%v, %v", f, err)
	}
	for want, call := range map[string]func() error{
		"must be at least 1": func() error { _, err := NearestPhotos(t.Context(), g, g, 0, RankOptions{}); return err },
		"dimensions": func() error {
			_, err := NearestPhotos(t.Context(), PhotoSet{X: matrix.New(1, 2)}, g, 1, RankOptions{})
			return err
		},
		"NaN": func() error {
			_, err := NearestPhotos(t.Context(), photosOnLine(nil, float32(math.NaN())), g, 1, RankOptions{})
			return err
		},
		"of 0 items": func() error {
			_, err := NearestPhotos(t.Context(), g, PhotoSet{X: matrix.New(0, 1)}, 1, RankOptions{})
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestNearestStops(t *testing.T) {
	x := matrix.New(600, 1)
	for i := range x.Rows {
		x.Row(i)[0] = float32(i)
	}
	ctxtest.CheckStops(t, 50, func(ctx context.Context) error {
		_, err := NearestPhotos(ctx, PhotoSet{X: x}, PhotoSet{X: x}, 5, RankOptions{})
		return err
	})
}
