package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStrangeFolders: folders of photos as other people have them, and what data info takes them for.
func TestStrangeFolders(t *testing.T) {
	type found struct {
		Classes map[string]int
		Splits  map[string]int
		Left    int // images left out, not files of other kinds
	}
	pets := map[string]int{"cat": 4, "dog": 4}
	both := map[string]int{"cat": 8, "dog": 8}
	for _, c := range []struct {
		name  string
		files string // {} is each of four photos
		links string
		want  found
	}{
		{"train and val", "train/cat/{} train/dog/{} val/cat/{} val/dog/{}", "",
			found{both, map[string]int{"train": 8, "test": 8}, 0}},
		{"train and valid", "train/cat/{} train/dog/{} valid/cat/{} valid/dog/{}", "",
			found{both, map[string]int{"train": 8, "test": 8}, 0}},
		{"train", "train/cat/{} train/dog/{}", "", found{pets, nil, 0}},
		{"query and gallery", "query/cat/{} query/dog/{} gallery/cat/{} gallery/dog/{}", "",
			found{both, map[string]int{"query": 8, "gallery": 8}, 0}},
		{"train, val and test", "train/cat/{} train/dog/{} val/cat/{} test/dog/{}", "",
			found{both, map[string]int{"train": 8, "none": 4, "test": 4}, 0}},
		{"a network drive",
			"cat/{} dog/{} cat/@eaDir/0.png/{} #recycle/{} @Recycle/{} $RECYCLE.BIN/{} lost+found/{}", "",
			found{pets, nil, 20}},
		{"one store for both parts", "../store/cat/{} ../store/dog/{}", "train=../store test=../store",
			found{pets, nil, 1}},
		{"one store for two classes", "../store/cat/{} ../store/dog/{}",
			"a=../store/cat b=../store/cat dog=../store/dog", found{map[string]int{"a": 4, "dog": 4}, nil, 1}},
		{"a loop", "cat/{} dog/{}", "cat/up=. dog/again=cat", found{pets, nil, 2}},
	} {
		if c.links != "" && runtime.GOOS == "windows" {
			continue // links take a privilege there
		}
		dir := makeStrangeFolder(t, c.files, c.links)
		code, out, errOut := runArgs(t, "data", "info", dir, "--no-images", "--json")
		var doc struct {
			Labels []struct {
				Classes []struct {
					Name  string
					Count int
				}
			}
			Splits  map[string]int
			LeftOut []struct{ Count int } `json:"left_out"`
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK || len(doc.Labels) != 1 {
			t.Errorf("%s: status %d, %v: %s%s", c.name, code, err, out, errOut)
			continue
		}
		got := found{Classes: map[string]int{}, Splits: doc.Splits}
		for _, class := range doc.Labels[0].Classes {
			got.Classes[class.Name] = class.Count
		}
		for _, l := range doc.LeftOut {
			got.Left += l.Count
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

// makeStrangeFolder makes a folder of files, {} standing for each of four photos, and of links NAME=TARGET.
func makeStrangeFolder(t *testing.T, files, links string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, f := range strings.Fields(files) {
		for k := range 4 {
			name := strings.ReplaceAll(f, "{}", string(rune('0'+k))+".png")
			writeBytes(t, filepath.Join(dir, filepath.FromSlash(name)), newNoisePicture(t, uint64(10*i+k)))
		}
	}
	for l := range strings.FieldsSeq(links) {
		name, to, _ := strings.Cut(l, "=")
		if err := os.Symlink(filepath.Join(dir, filepath.FromSlash(to)), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
