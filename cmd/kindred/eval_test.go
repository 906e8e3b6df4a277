package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeEmbeddingsCSV writes two classes of two fine ones each, ten rows apiece.
func writeEmbeddingsCSV(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("embedding_0,embedding_1,label,fine\n")
	for i := range 40 {
		c, f := i%2, i%4
		b.WriteString(strings.Join([]string{
			string("05"[c]) + "0." + string("0123456789"[i/4]), string("08"[f/2]) + "." + string("0123456789"[i/4]),
			"class " + string("ab"[c]), string("wxyz"[f]),
		}, ",") + "\n")
	}
	path := filepath.Join(t.TempDir(), "e.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEvalDims checks that the beginnings of embeddings are measured: the first number tells the
// labels apart, and both tell the fine ones.
func TestEvalDims(t *testing.T) {
	path := writeEmbeddingsCSV(t)
	run := func(args ...string) (string, string, int) {
		var out, errs bytes.Buffer
		args = append([]string{"eval", "--embeddings", path, "--metrics", "recall@1", "--columns", "fine"}, args...)
		code := execute(context.Background(), args, &out, &errs)
		return out.String(), errs.String(), code
	}
	out, errs, code := run("--dims", "1,2", "--json")
	var list []struct {
		Dim    int
		Report struct{ Metrics map[string]float64 }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != exitOK || len(list) != 2 {
		t.Fatalf("status %d, %v: %s%s", code, err, out, errs)
	}
	if one, two := list[0].Report.Metrics["recall@1"], list[1].Report.Metrics["recall@1"]; list[0].Dim != 1 ||
		list[1].Dim != 2 || one >= 1 || two != 1 {
		t.Errorf("recall@1 is %v of the first number and %v of both", one, two)
	}
	if out, _, code := run("--dims", "2"); code != exitOK || !strings.Contains(out, "the first 2 of 2 numbers:") {
		t.Errorf("status %d: %s", code, out)
	}
	for want, args := range map[string][]string{
		"the embeddings have 2 numbers": {"--dims", "3"},
		"leave out --out":               {"--dims", "1", "--out", t.TempDir()},
	} {
		if _, errs, code := run(args...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, %q, want %q", args, code, errs, want)
		}
	}
}

func TestEvalAndDiagnoseCommands(t *testing.T) {
	path, dir := writeEmbeddingsCSV(t), t.TempDir()
	var out, errOut bytes.Buffer
	code := execute(context.Background(),
		[]string{"eval", "--embeddings", path, "--metrics", "recall@1,nmi", "--json", "--out", dir}, &out, &errOut)
	var doc struct {
		Metrics  map[string]float64
		Queries  int
		Excluded *int
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || code != exitOK {
		t.Fatalf("status %d, %v: %s%s", code, err, out.String(), errOut.String())
	}
	if doc.Metrics["recall@1"] != 1 || doc.Metrics["nmi"] != 1 || doc.Queries != 40 || doc.Excluded == nil {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	if code := execute(context.Background(), []string{"diagnose", path, "--json", "--out", dir}, &out,
		&errOut); code != exitOK {
		t.Fatalf("status %d: %s", code, errOut.String())
	}
	var verdict struct{ Verdict struct{ State string } }
	if err := json.Unmarshal(out.Bytes(), &verdict); err != nil || verdict.Verdict.State == "" {
		t.Errorf("%v: %s", err, out.String())
	}
	for _, name := range []string{"eval.json", "eval.csv", "eval.md", "diagnosis.json", "diagnosis.html", "classes.csv",
		"triplets.csv"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEvalAndDiagnoseStatuses(t *testing.T) {
	path := writeEmbeddingsCSV(t)
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"eval"}, exitUsage},
		{[]string{"eval", "--embeddings", path, "--metrics", "bogus"}, exitUsage},
		{[]string{"eval", "--embeddings", path, "--distance", "manhattan"}, exitUsage},
		{[]string{"eval", "--embeddings", path, "--restarts", "0"}, exitUsage},
		{[]string{"eval", "--embeddings", path, "--gallery-labels", path}, exitUsage},
		{[]string{"eval", "--embeddings", path, "--columns", "none"}, exitFailure},
		{[]string{"eval", "--embeddings", path + "x"}, exitFailure},
		{[]string{"eval", "--embeddings", path, "--metrics", "recall@1,nmi+30"}, exitFailure},
		{[]string{"diagnose"}, exitUsage},
		{[]string{"diagnose", "--embeddings", path + "x"}, exitFailure},
		{[]string{"diagnose", path, "--margin", "0"}, exitUsage},
		{[]string{"diagnose", path, "--set", "other"}, exitUsage},
		{[]string{"diagnose", t.TempDir()}, exitFailure},
	} {
		var out, errOut bytes.Buffer
		if got := execute(context.Background(), c.args, &out, &errOut); got != c.want || errOut.Len() == 0 {
			t.Errorf("%v: status %d, want %d: %s", c.args, got, c.want, errOut.String())
		}
	}
}
