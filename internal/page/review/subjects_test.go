package review

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
)

func TestSubjects(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a", "x.jpg")
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s := Subjects{Labels: []int64{1, 7, 1}, Names: map[int64]string{1: "cat"}, Index: []int{5, 3, 9}, Root: dir,
		Items: []embedding.Item{{Path: "a/x.jpg"}, {Path: "a"}, {Path: "gone.jpg"}}, Splits: []string{"train", "",
			"test"}}
	// A file has its whole path; a folder and what is not there keep their names.
	want := []Item{{Path: file, Name: "a/x.jpg", Label: "cat", Split: "train"}, {Path: "a", Name: "a", Label: "7"},
		{Path: "gone.jpg", Name: "gone.jpg", Label: "cat", Split: "test"}}
	if got := s.manifestItems(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if s.ID(1) != "a" {
		t.Error(s.ID(1))
	}
	finer := func(i int) string { return s.Label(i) + "!" }
	rows := s.Manifest(finer, s.Label, func(i int) bool { return i != 1 })
	if want := [][]string{{"path", "label", "coarse", "split"}, {file, "cat!", "cat", "train"},
		{"gone.jpg", "cat!", "cat", "test"}}; !reflect.DeepEqual(rows, want) {
		t.Errorf("%q", rows)
	}

	bare := Subjects{Labels: []int64{2, 0}, IDs: []string{"E.npy#row=1", "E.npy#row=2"}}
	if got := bare.Manifest(bare.Label, nil, nil); !reflect.DeepEqual(got, [][]string{{"path", "label"}, {"E.npy#row=1",
		"2"},
		{"E.npy#row=2", "0"}}) {
		t.Errorf("%q", got)
	}
	if bare.ID(1) != "E.npy#row=2" || bare.Split(0) != "" || len((&Subjects{}).manifestItems()) != 0 {
		t.Error("items without names")
	}
}
