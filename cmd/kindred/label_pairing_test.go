package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
)

// timePattern is what differs between two runs of a command.
var timePattern = regexp.MustCompile(`"seconds": [-+.e0-9]+`)

// A file of labels whose rows stand in another order than the embeddings gives
// every command the same as one in their order.
func TestLabelsAreMatchedByName(t *testing.T) {
	dir := t.TempDir()
	const n = 24
	x := matrix.New(n, 2)
	var names, labels []string
	for i := range n {
		x.Row(i)[0], x.Row(i)[1] = float32(i%3), float32(i)/100
		names, labels = append(names, fmt.Sprintf("p/%02d.jpg", i)), append(labels, string(rune('a'+i%3)))
	}
	tab, err := embedding.NewTable(x, names, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := filepath.Join(dir, "e.npz")
	if err := embedding.Write(e, tab); err != nil {
		t.Fatal(err)
	}
	put := func(name string, rows []int) string {
		text := "path,label\n"
		for _, i := range rows {
			text += names[i] + "," + labels[i] + "\n"
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	straight, mixed := put("straight.csv", sequence(n)), put("mixed.csv", order)
	short := put("short.csv", order[1:])
	out := filepath.Join(dir, "out")
	for name, args := range map[string][]string{
		"eval":        {"eval", "--embeddings", e, "--labels", "L", "--metrics", "recall@1,nmi"},
		"gallery":     {"eval", "--embeddings", e, "--labels", "L", "--gallery", e, "--gallery-labels", "L"},
		"assignments": {"eval", "--embeddings", e, "--labels", straight, "--assignments", "L", "--metrics", "nmi"},
		"diagnose":    {"diagnose", e, "--labels", "L"},
		"loss":        {"loss", "--embeddings", e, "--labels", "L", "--loss", "contrastive"},
		"loss of ids": {"loss", "--embeddings", e, "--labels", straight, "--ids", "L", "--loss", "ntxent"},
		"neighbours":  {"neighbours", "--embeddings", e, "--labels", "L", "--queries", "2", "--out", out, "--force"},
		"clean":       {"clean", e, "--labels", "L", "--out", out, "--force"},
		"map":         {"map", "--embeddings", e, "--labels", "L", "--method", "pca", "--out", out, "--force"},
		"discover":    {"discover", e, "--labels", "L", "--out", out, "--force"},
	} {
		var got []string
		for _, l := range []string{straight, mixed, short} {
			line := append([]string{}, args...)
			for i := range line {
				if line[i] == "L" {
					line[i] = l
				}
			}
			code, text, errOut := runArgs(t, append(line, "--json")...)
			if l != short && (code != exitOK || strings.Contains(errOut, "paired by row")) {
				t.Fatalf("%s: status %d, %s", name, code, errOut)
			}
			missing := fmt.Sprintf("short.csv has no row with the path %q of row %d of ", names[order[0]], order[0]+1)
			if l == short && (code != exitFailure || !strings.Contains(errOut, missing)) {
				t.Errorf("%s of labels for other rows: status %d, %s, want %q", name, code, errOut, missing)
			}
			got = append(got, timePattern.ReplaceAllString(text, ""))
		}
		if got[0] != got[1] {
			t.Errorf("%s: labels in another order change it:\n%s\n%s", name, got[0], got[1])
		}
	}
}

// Where only one of the files names its rows, the command says that it went by row.
func TestPairingByRowIsSaid(t *testing.T) {
	dir := t.TempDir()
	e, l := filepath.Join(dir, "e.csv"), filepath.Join(dir, "l.csv")
	for path, text := range map[string]string{e: "embedding_0,embedding_1\n0,1\n1,0\n0,1\n1,0\n",
		l: "path,label\nb,1\na,2\nd,1\nc,2\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errOut := runArgs(t, "eval", "--embeddings", e, "--labels", l, "--metrics", "recall@1", "--format",
		"csv")
	want := "kindred: paired by row: " + e + " names no rows: row i of " + l +
		" labels its row i, whatever path it has\n"
	if code != exitOK || errOut != want || !strings.Contains(out, "recall@1,label,1,4") {
		t.Errorf("status %d, %q, %q", code, out, errOut)
	}
}

func sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}
