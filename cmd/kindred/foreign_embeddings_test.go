package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
)

// makeForeignFolder makes m.onnx, embeddings a by it at one size and b at another, with calibrations and an
// index at the size of a. u.csv has the numbers of a, and does not say which network made them. The test
// runs in the folder.
func makeForeignFolder(t *testing.T) {
	t.Helper()
	model := onnxFile(t)
	t.Chdir(t.TempDir())
	if err := os.Rename(model, "m.onnx"); err != nil {
		t.Fatal(err)
	}
	writePatternFolder(t, "photos", 0, 20, 4)
	mustRun(t, "embed", "--network", "m.onnx", "photos", "--out", "a.parquet")
	mustRun(t, "embed", "--network", "m.onnx", "--size", "64", "photos", "--out", "b.parquet")
	mustRun(t, "index", "create", "--network", "m.onnx", "photos", "--out", "a.index")
	mustRun(t, "calibrate", "a.index")
	mustRun(t, "calibrate", "a.parquet", "--distance", "cosine")
	tab, err := cli.EmbeddingFormats().Read("a.parquet")
	if err != nil {
		t.Fatal(err)
	}
	tab.Network = embedding.Network{}
	if err := cli.EmbeddingFormats().Write("u.csv", tab); err != nil {
		t.Fatal(err)
	}
}

// TestForeignEmbeddings: every command that compares embeddings of two networks refuses to, accepts them with the
// flag, and takes embeddings of an unknown network with a note. Without embeddings to compare, the flag is refused.
func TestForeignEmbeddings(t *testing.T) {
	makeForeignFolder(t)
	photo := filepath.Join("photos", "thing 3", "0.png")
	if _, err := os.Stat(photo); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, without string }{
		{"search PHOTO --network m.onnx --embeddings FILE", "search PHOTO --network m.onnx --in photos"},
		{"index add OUT --embeddings FILE --prefix x/", "index add OUT --data photos"},
		{"index create --network m.onnx --embeddings FILE --out OUT", "index create --network m.onnx photos --out OUT"},
		{"index search a.index --vector FILE", "index search a.index PHOTO"},
		{"search --index a.index PHOTO", "search --index a.index PHOTO"},
		{"identify --index a.index --vector FILE --fpir 0.5", "identify --index a.index PHOTO --fpir 0.5"},
		{"identify PHOTO --embeddings FILE --network m.onnx --calibration a.calibration.json --fpir 0.5",
			"identify PHOTO --in photos --network m.onnx --calibration a.calibration.json --fpir 0.5"},
		{"identify --embeddings a.parquet --vector FILE --fpir 0.5", ""},
		{"identify --in photos --network m.onnx --vector FILE --calibration a.calibration.json --fpir 0.5", ""},
		{"calibrate a.parquet --check FILE", "calibrate a.parquet --force"},
		{"calibrate a.index --check FILE", "calibrate a.index --check photos"},
		{"calibrate a.parquet --trials 1 --seen FILE --fmr 0.2 --distance cosine", "calibrate a.parquet --trials 1"},
		{"eval --embeddings a.parquet --gallery FILE --metrics recall@1", "eval --embeddings a.parquet"},
	} {
		run := func(line, file string, more ...string) (int, string) {
			out := filepath.Join(t.TempDir(), "i.index")
			if strings.HasPrefix(line, "index add") {
				if err := os.CopyFS(out, os.DirFS("a.index")); err != nil {
					t.Fatal(err)
				}
			}
			words := strings.Fields(line)
			for i, w := range words {
				words[i] = strings.NewReplacer("PHOTO", photo, "FILE", file, "OUT", out).Replace(w)
			}
			code, _, stderr := runArgs(t, append(words, more...)...)
			return code, stderr
		}
		const differ, unknown = "its embeddings are of model (64 x 64", "u.csv does not say which network made"
		flag := "--" + provenance.ForceFlag
		if strings.Contains(c.line, "FILE") {
			if code, stderr := run(c.line, "a.parquet"); code != exitOK || strings.Contains(stderr, "network made") {
				t.Errorf("%s: the same network: status %d, %s", c.line, code, stderr)
			}
			if code, stderr := run(c.line, "b.parquet"); code != exitFailure ||
				!strings.Contains(stderr, strings.ReplaceAll(differ, "model", "m")) || !strings.Contains(stderr, flag) {
				t.Errorf("%s: another network: status %d, %s", c.line, code, stderr)
			}
			if code, stderr := run(c.line, "b.parquet", flag); code != exitOK ||
				!strings.Contains(stderr, "note: b.parquet") {
				t.Errorf("%s: accepted: status %d, %s", c.line, code, stderr)
			}
			if code, stderr := run(c.line, "u.csv"); code != exitOK || !strings.Contains(stderr, unknown) {
				t.Errorf("%s: an unknown network: status %d, %s", c.line, code, stderr)
			}
		}
		if c.without != "" {
			if code, stderr := run(c.without, "", flag); code != exitUsage || !strings.Contains(stderr, flag) {
				t.Errorf("%s: the flag: status %d, %s", c.without, code, stderr)
			}
		}
	}
}

// TestOwnCalibration: the calibration of an index holds beside the file of its network, and that of the file in an
// index, in either direction.
func TestOwnCalibration(t *testing.T) {
	makeForeignFolder(t)
	photo := filepath.Join("photos", "thing 3", "0.png")
	for _, line := range [][]string{
		{"identify", photo, "--network", "m.onnx", "--in", "photos", "--fpir", "0.5", "--calibration",
			filepath.Join("a.index", decide.FileName)},
		{"identify", photo, "--index", "a.index", "--fpir", "0.5", "--calibration", "a.calibration.json"},
	} {
		if code, _, stderr := runArgs(t, line...); code != exitOK || strings.Contains(stderr, "note:") {
			t.Errorf("%v: status %d, %s", line, code, stderr)
		}
	}
	code, _, stderr := runArgs(t, "identify", photo, "--network", "m.onnx", "--size", "64", "--in", "photos", "--fpir",
		"0.5", "--calibration", "a.calibration.json")
	if code != exitFailure || !strings.Contains(stderr, "another network") {
		t.Errorf("another size: status %d, %s", code, stderr)
	}
}

// TestRewrittenEmbeddings: a calibration beside a file is not used for another content of the file, unless both are of
// one network.
func TestRewrittenEmbeddings(t *testing.T) {
	makeForeignFolder(t)
	mustRun(t, "calibrate", "u.csv", "--distance", "cosine")
	identify := []string{"identify", "--embeddings", "u.csv", "--vector", "u.csv", "--fpir", "0.5"}
	mustRun(t, identify...)
	write := func(change func(e *embedding.Table)) {
		t.Helper()
		e, err := cli.EmbeddingFormats().Read("a.parquet")
		if err != nil {
			t.Fatal(err)
		}
		change(e)
		if err := cli.EmbeddingFormats().Write("u.csv", e); err != nil {
			t.Fatal(err)
		}
	}
	write(func(e *embedding.Table) { e.Network, e.X.Data[0] = embedding.Network{}, e.X.Data[0]+1 })
	for _, line := range [][]string{identify, {"calibrate", "u.csv", "--check", "u.csv"}} {
		code, _, stderr := runArgs(t, line...)
		if code != exitFailure || !strings.Contains(stderr, "learned from another content of u.csv") {
			t.Errorf("%v: status %d, %s", line, code, stderr)
		}
	}
	mustRun(t, append(identify, "--calibration", "u.calibration.json")...)
	mustRun(t, "calibrate", "u.csv", "--check", "u.csv", "--out", "u.calibration.json")
	// More embeddings by the same network.
	mustRun(t, "calibrate", "a.parquet", "--distance", "cosine", "--out", "u.calibration.json", "--force")
	write(func(e *embedding.Table) { e.X.Data[0]++ })
	mustRun(t, identify...)
}

// TestIndexOfForeign: an index that is made of embeddings without their network remembers it.
func TestIndexOfForeign(t *testing.T) {
	makeForeignFolder(t)
	mustRun(t, "index", "create", "--embeddings", "a.parquet", "--out", "e.index")
	if out := mustRun(t, "index", "info", "e.index"); !strings.Contains(out, "32 x 32") {
		t.Error(out)
	}
	code, _, stderr := runArgs(t, "index", "add", "e.index", "--embeddings", "b.parquet", "--prefix", "b/")
	if code != exitFailure || !strings.Contains(stderr, "those of e.index") {
		t.Errorf("status %d, %s", code, stderr)
	}
	mustRun(t, "index", "add", "e.index", "--embeddings", "a.parquet", "--prefix", "a/")
	code, _, stderr = runArgs(t, "index", "search", "e.index", filepath.Join("photos", "thing 3", "0.png"))
	if code != exitFailure || !strings.Contains(stderr, "e.index has no network") {
		t.Errorf("status %d, %s", code, stderr)
	}
	if code, _, stderr := runArgs(t, "index", "create", "--embeddings", "a.parquet", "--out", "f.index",
		"--"+provenance.ForceFlag); code != exitUsage {
		t.Errorf("the flag: status %d, %s", code, stderr)
	}
}
