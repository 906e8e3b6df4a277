package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestPagesAreUpToDate fails if a page differs from what its comment or record
// makes, or is left over.
func TestPagesAreUpToDate(t *testing.T) {
	root := filepath.Join("..", "..")
	want, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(root, "docs", name))
		if err != nil {
			t.Errorf("%v: run make gen", err)
		} else if !bytes.Equal(got, text) {
			t.Errorf("%s is out of date: run make gen", filepath.Join("docs", name))
		}
	}
	for _, dir := range []string{"losses", "policies"} {
		files, err := os.ReadDir(filepath.Join(root, "docs", dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if _, ok := want[dir+"/"+f.Name()]; !ok {
				t.Errorf("docs/%s/%s is left over: remove it", dir, f.Name())
			}
		}
	}
}

func TestRewriteKeepsWhatIsAround(t *testing.T) {
	const mark, end = "<!-- written by make gen from x -->\n", "<!-- end of what make gen writes -->\n"
	const other = "<!-- written by make gen from y -->\nkept\n" + end
	got, err := rewrite([]byte(other+"before\n"+mark+"old\n"+end+"after\n"), "x", []byte("new\n"))
	if want := other + "before\n" + mark + "\nnew\n\n" + end + "after\n"; err != nil || string(got) != want {
		t.Errorf("got\n%s, %v, want\n%s", got, err, want)
	}
	for _, text := range []string{"no marks", end + mark, mark} {
		if _, err := rewrite([]byte(text), "x", nil); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}
