package data

import (
	"bytes"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/internal/test/archives"
	"github.com/kindred-ml/kindred/internal/test/mutations"
)

// TestMutations changes what describes photos: annotations of iNaturalist, a sample of a shard,
// lists of CUB's form, lists of shards.
func TestMutations(t *testing.T) {
	cub, list := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"image_class_labels.txt": "1 1\n2 2\n", "classes.txt": "1 a\n2 b\n",
		"train_test_split.txt": "1 1\n2 0\n", "images/a/b.jpg": "x", "images/b/c.jpg": "x"} {
		write(t, filepath.Join(cub, filepath.FromSlash(name)), []byte(text))
	}
	image := picture(t, 8, 8, 1)
	write(t, filepath.Join(list, "s-1.tar"), archives.Tar(t, "a.png", image, "a.cls", "1",
		"b.png", picture(t, 8, 8, 2), "b.cls", "2"))
	write(t, filepath.Join(list, "s-2.tar"), archives.Tar(t, "c.png", picture(t, 8, 8, 3), "c.cls", "1"))
	shut := func(d *Dataset, err error) error {
		if err != nil {
			return err
		}
		return d.Close()
	}
	roots, err := rootfs.Open([]string{cub, list}) // a changed path may be that of anything
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := roots.Close(); err != nil {
			t.Error(err)
		}
	})
	here := rootfs.WithRoots(t.Context(), roots)
	mutations.Try(t,
		mutations.Reader{Name: "list of paths", Valid: []string{
			filepath.Join(cub, "images/a/b.jpg") + "\n" + filepath.Join(cub, "images/b/c.jpg") + "\r\n",
			filepath.Join(cub, "images/a/b.jpg") + "\x00" + filepath.Join(cub, "images/b/c.jpg") + "\x00"},
			Read: func(text []byte) error {
				paths, err := ReadPaths(bytes.NewReader(text))
				if err != nil {
					return err
				}
				return shut(OpenFiles(here, paths))
			}},
		mutations.Reader{Name: "annotations of iNaturalist",
			Valid: []string{inatExample}, Read: func(text []byte) error {
				l := layoutFiles{"train.json": text, "val.json": []byte(inatExample), "a.jpg": image}
				return shut(OpenFS(t.Context(), l.fs(), "inat", OpenOptions{}))
			}},
		mutations.Reader{Name: "description of a sample", Valid: []string{`{"label": "x", "at": {"b": 1}, "g": true}`},
			Read: func(text []byte) error {
				m := fstest.MapFS{"s.tar": &fstest.MapFile{Data: archives.Tar(t, "a.png", image, "a.json", text)}}
				return shut(OpenFS(t.Context(), m, "shard", OpenOptions{Columns: []string{"at.b"}, Group: "g"}))
			}},
		mutations.Reader{Name: "list of CUB", Valid: []string{"1 a/b.jpg\n2 b/c.jpg\n"}, Read: func(text []byte) error {
			write(t, filepath.Join(cub, "images.txt"), text)
			return shut(Open(here, cub, OpenOptions{}))
		}},
		mutations.Reader{Name: "list of shards", Valid: []string{"# all\ns-1.tar\ns-2.tar\n", "s-{1..2}.tar\n"},
			Read: func(text []byte) error {
				path := filepath.Join(list, "list.txt")
				write(t, path, text)
				return shut(Open(here, path, OpenOptions{}))
			}})
}

// inatExample are annotations of iNaturalist.
const inatExample = `{"info": {"year": [2021, {"x": null}]}, "images": [{"id": 7, "file_name": "a.jpg", "width": 3}],
"annotations": [{"image_id": 7, "category_id": 3}], "categories": [{"id": 3, "name": "Parus",
"supercategory": "Aves"}]}`
