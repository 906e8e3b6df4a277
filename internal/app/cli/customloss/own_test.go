package customloss

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"

	"github.com/kindred-ml/kindred/objective"
)

func frameText(text string) string {
	return string(binary.LittleEndian.AppendUint32(nil, uint32(len(text)))) + text
}

func openLink(t *testing.T, kind, answers string, out *bytes.Buffer) *Link {
	t.Helper()
	hello, err := json.Marshal(Identity{kind, "mine.f", "abc"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(kind, strings.NewReader(frameText(string(hello))+answers), out)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLoss: the request has the bytes of the documentation, and the objective gets value and gradient.
func TestLoss(t *testing.T) {
	answer := []byte{'L'}
	answer = binary.LittleEndian.AppendUint64(answer, math.Float64bits(2.5))
	for _, v := range []float32{1, -2, 3, 4} {
		answer = binary.LittleEndian.AppendUint32(answer, math.Float32bits(v))
	}
	var out bytes.Buffer
	l := openLink(t, "loss", string(answer), &out)
	obj, err := objective.New(objective.Options{Loss: l.Loss(),
		Mine: objective.MiningConfig{Positives: objective.AllPositives,
			Negatives: objective.AllNegatives}})
	if err != nil {
		t.Fatal(err)
	}
	e, grad := matrix.FromSlice(2, 2, []float32{0.5, 0.25, -1, 2}), matrix.New(2, 2)
	r, err := obj.Step(context.Background(), e, objective.Batch{Labels: []int64{7, -1}}, grad)
	if err != nil || r.Value != 2.5 || r.Tuples != 2 || grad.At(0, 0) != 1 || grad.At(0, 1) != -2 ||
		grad.At(1, 1) != 4 {
		t.Errorf("%+v, %v, %v", r, grad, err)
	}
	want := []byte("KRQ1L\x02\x00\x00\x00\x02\x00\x00\x00")
	for _, v := range e.Data {
		want = binary.LittleEndian.AppendUint32(want, math.Float32bits(v))
	}
	want = append(want, 7, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255)
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("% x, want % x", out.Bytes(), want)
	}
	if _, err := obj.Step(context.Background(), e, objective.Batch{Labels: []int64{7, -1}}, grad); err == nil ||
		!strings.Contains(err.Error(), "the loss mine.f no longer answers: EOF") {
		t.Error(err)
	}
}

func TestMine(t *testing.T) {
	e, b := matrix.New(3, 2), objective.Batch{Labels: []int64{0, 0, 1}}
	triplet := "\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"
	for answer, want := range map[string]string{
		"M\x01\x00\x00\x00" + triplet: "",
		"M\x00\x00\x00\x00":           "",
		"M\xff\xff\xff\xff":           "4294967295 triplets for a batch of 3 rows: too many",
		"M\x02\x00\x00\x00" + triplet: "no longer answers",
		"L":                           "begins with 'L'",
		"E" + frameText("line 1: é"):  "the miner mine.f failed:\nline 1: é",
		"E\xff\xff\xff\x7f":           "at most",
	} {
		var out bytes.Buffer
		got, err := openLink(t, "miner", answer, &out).Mine(e, b)
		if want == "" && (err != nil || len(got) == 1 && got[0] != [3]int32{0, 1, 2}) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v, want %q", answer, got, err, want)
		}
	}
}

// TestCheck: a run goes on only with the function that it was begun with.
func TestCheck(t *testing.T) {
	var out bytes.Buffer
	l, dir := openLink(t, "loss", "", &out), t.TempDir()
	if err := l.Check(dir); err == nil || !strings.Contains(err.Error(), "has no loss of a program's own") {
		t.Error(err)
	}
	if err := l.SaveIdentity(dir); err != nil || l.Check(dir) != nil {
		t.Error(err, l.Check(dir))
	}
	for _, other := range []Identity{{"miner", "mine.f", "abc"}, {"loss", "g", "abc"}, {"loss", "mine.f", "abd"}} {
		m := *l
		m.Identity = other
		if err := m.Check(dir); err == nil || !strings.Contains(err.Error(), "cannot continue with the "+other.Kind) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, File), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := l.Check(dir); err == nil || !strings.Contains(err.Error(), File) {
		t.Error(err)
	}
}
