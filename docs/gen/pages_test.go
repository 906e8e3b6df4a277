package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/objective"
)

// TestPagesAreUpToDate fails if a page differs from the page of its comment or record, or
// has neither any more.
func TestPagesAreUpToDate(t *testing.T) {
	root := filepath.Join("..", "..")
	want, err := generatePages(root)
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
	for _, dir := range []string{"losses"} {
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

// TestKeysOfMining checks that the page of policies has a row for each key of the section
// mine, and that its field exists.
func TestKeysOfMining(t *testing.T) {
	var b bytes.Buffer
	writeMiningKeys(&b)
	rows := 0
	for _, line := range strings.Split(b.String(), "\n") {
		key, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `mine."), "` | `")
		if !ok {
			continue
		}
		rows++
		if !slices.Contains(objective.MiningKeys(), key) {
			t.Errorf("there is no key mine.%s", key)
		}
		field, _, _ := strings.Cut(rest, "`")
		at := reflect.TypeFor[objective.MiningConfig]()
		for _, name := range strings.Split(field, ".") {
			f, ok := at.FieldByName(name)
			if !ok {
				t.Errorf("mine.Config has no %s", field)
				break
			}
			at = f.Type
		}
	}
	if rows != len(objective.MiningKeys()) {
		t.Errorf("%d rows for the keys %v", rows, objective.MiningKeys())
	}
}

func TestRewriteKeepsWhatIsAround(t *testing.T) {
	const mark, end = "<!-- written by make gen from x -->\n", "<!-- end of what make gen writes -->\n"
	const other = "<!-- written by make gen from y -->\nkept\n" + end
	got, err := replaceBetweenMarks([]byte(other+"before\n"+mark+"old\n"+end+"after\n"), "x", []byte("new\n"))
	if want := other + "before\n" + mark + "\nnew\n\n" + end + "after\n"; err != nil || string(got) != want {
		t.Errorf("got\n%s, %v, want\n%s", got, err, want)
	}
	for _, text := range []string{"no marks", end + mark, mark} {
		if _, err := replaceBetweenMarks([]byte(text), "x", nil); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}
