package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/matrix"
)

// unlabelledTable has 40 rows of five classes far apart, every fourth without a label; its numbers
// as labels tell numbers from text.
func unlabelledTable(t *testing.T) *embedding.Table {
	t.Helper()
	x, label, other, files := matrix.New(40, 2), make([]string, 40), make([]string, 40), make([]string, 40)
	for i := range 40 {
		x.Row(i)[0] = float32(100 * (i % 5))
		x.Row(i)[1] = float32(i) / 100
		files[i] = "p" + string(rune('a'+i/10)) + string(rune('0'+i%10)) + ".jpg"
		if i%4 != 3 {
			label[i] = string(rune('0' + i%5))
		}
	}
	table, err := embedding.NewTable(x, files, []embedding.Column{{Name: "label", Text: label},
		{Name: "shop", Text: other}})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// A row without a label is left out and counted by every command that reads labels, in every format,
// and with --strict an error. A column that nobody asks for may be empty.
func TestMissingLabels(t *testing.T) {
	table := unlabelledTable(t)
	const said = "left out 10: without a label (label): pa3.jpg, pa7.jpg, pb1.jpg, pb5.jpg, pb9.jpg, ...\n"
	var csv string
	for _, ext := range []string{".csv", ".npz", ".safetensors", ".parquet"} {
		path := filepath.Join(t.TempDir(), "E"+ext)
		if ext == ".csv" {
			csv = path
		}
		if err := cli.EmbeddingFormats().Write(path, table); err != nil {
			t.Fatal(err)
		}
		code, out, errOut := runArgs(t, "eval", "--embeddings", path, "--metrics", "recall@1", "--format", "csv")
		if code != exitOK || !strings.Contains(out, "recall@1,label,1,30") || errOut != said {
			t.Errorf("%s: status %d: %s%s", ext, code, out, errOut)
		}
		code, out, errOut = runArgs(t, "eval", "--embeddings", path, "--gallery", path, "--metrics", "recall@1",
			"--format", "csv")
		if code != exitOK || !strings.Contains(out, "recall@1,label,1,30") || errOut != said+said+"30 of 30 queries "+
			"are also items of the gallery: each is left out of its own results\n" {
			t.Errorf("%s: status %d: %s%s", ext, code, out, errOut)
		}
	}
	dir := t.TempDir()
	for _, args := range [][]string{
		{"eval", "--embeddings", csv, "--metrics", "recall@1"}, {"diagnose", csv}, {"loss", "--embeddings", csv},
		{"neighbours", "--embeddings", csv, "--out", filepath.Join(dir, "n")},
		{"map", "--embeddings", csv, "--method", "pca", "--out", filepath.Join(dir, "m")},
		{"discover", csv, "--out", filepath.Join(dir, "d")}, {"clean", csv, "--out", filepath.Join(dir, "c")},
	} {
		if code, _, errOut := runArgs(t, append(args, "--strict")...); code != exitFailure ||
			!strings.Contains(errOut, "10 rows are without a label (label), such as pa3.jpg") {
			t.Errorf("%s --strict: status %d: %s", args[0], code, errOut)
		}
		if code, out, errOut := runArgs(t, args...); code != exitOK || !strings.Contains(errOut, said) {
			t.Errorf("%s: status %d: %s%s", args[0], code, out, errOut)
		}
	}
}

// Classes of tables that look the same are two, with a note.
func TestLookAlikes(t *testing.T) {
	csv := filepath.Join(t.TempDir(), "E.csv")
	writeBytes(t, csv, []byte("label,embedding_0\ncaf\u00e9,1\ncafe\u0301,1.1\ncaf\u00e9,2\ncafe\u0301,2.1\n"))
	code, out, errOut := runArgs(t, "eval", "--embeddings", csv, "--metrics", "recall@1", "--format", "csv")
	if code != exitOK || !strings.Contains(out, "recall@1,label,0,4") ||
		!strings.HasPrefix(errOut, `note: classes "caf\u00e9" and "cafe\u0301" of column label look the same but`) {
		t.Errorf("status %d: %s%s", code, out, errOut)
	}
}

// Clusters are those of the rows that have a label, and a loss that is told of rows by their places
// refuses rows without one.
func TestMissingLabelsByPlace(t *testing.T) {
	csv := filepath.Join(t.TempDir(), "E.csv")
	if err := cli.EmbeddingFormats().Write(csv, unlabelledTable(t)); err != nil {
		t.Fatal(err)
	}
	var clusters strings.Builder
	clusters.WriteString("cluster\n")
	for i := range 40 {
		clusters.WriteString(string(rune('a'+i%5)) + "\n")
	}
	path := filepath.Join(t.TempDir(), "clusters.csv")
	if err := os.WriteFile(path, []byte(clusters.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := runArgs(t, "eval", "--embeddings", csv, "--assignments", path, "--metrics", "nmi", "--format",
		"csv")
	if code != exitOK || !strings.Contains(out, "nmi,label,1,") {
		t.Errorf("status %d: %s%s", code, out, errOut)
	}
	code, _, errOut = runArgs(t, "loss", "--embeddings", csv, "--grad", filepath.Join(t.TempDir(), "g.npy"))
	if code != exitFailure || !strings.Contains(errOut, "row 4 has no label") {
		t.Errorf("status %d: %s", code, errOut)
	}
}

// TestTablesWithoutRows: a header alone is named by every command that reads labels, before anything is written.
func TestTablesWithoutRows(t *testing.T) {
	t.Chdir(t.TempDir())
	writeBytes(t, "H.csv", []byte("path,label,embedding_0,embedding_1\n"))
	writeBytes(t, "E.csv", []byte("label,embedding_0\n1,2\n1,3\n"))
	for _, line := range []string{"eval --embeddings H.csv", "eval --embeddings E.csv --gallery H.csv",
		"clean H.csv --out o", "discover H.csv --out o", "diagnose --embeddings H.csv",
		"map --embeddings H.csv --out o", "neighbours --embeddings H.csv --out o", "calibrate H.csv",
		"loss --embeddings H.csv"} {
		code, _, stderr := runArgs(t, strings.Fields(line)...)
		if code != exitFailure || !strings.Contains(stderr, "H.csv: it has no rows") {
			t.Errorf("%s: status %d, %s", line, code, stderr)
		}
		if _, err := os.Stat("o"); err == nil {
			t.Errorf("%s left a folder", line)
		}
	}
}
