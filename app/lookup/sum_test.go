package lookup

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"boot", "a photo"} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p := func(s string) Term { return Term{Photo: s} }
	w := func(s string) Term { return Term{Words: s} }
	minus := func(t Term) Term { t.Minus = true; return t }
	for _, c := range []struct {
		args, texts []string
		want        []Phrase
	}{
		{[]string{"boot", "a photo", "a red boot"}, nil, []Phrase{{p("boot")}, {p("a photo")}, {w("a red boot")}}},
		{[]string{"x.JPG", "dir/x", "size 9.5", "s3://b/x"}, []string{"a/b.jpg", "boot"}, []Phrase{{p("x.JPG")},
			{p("dir/x")}, {w("size 9.5")}, {p("s3://b/x")}, {w("a/b.jpg")}, {w("boot")}}},
		{[]string{"x.jpg", "+", "with laces", "-", "red", "blue", "-", "boot"}, nil, []Phrase{
			{p("x.jpg"), w("with laces"), minus(w("red"))}, {w("blue"), minus(p("boot"))}}},
	} {
		got, err := Parse(c.args, c.texts)
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%q: %+v, %v", c.args, got, err)
		}
	}
	for _, args := range []string{"+", "+ a", "a +", "a + -", "a + + b", "-"} {
		_, err := Parse(strings.Fields(args), nil)
		if err == nil || !strings.Contains(err.Error(), "stands between two") {
			t.Errorf("%s: %v", args, err)
		}
	}
	for _, bad := range [][]string{{""}, {"  "}, {"a", "+", ""}} {
		if _, err := Parse(bad, nil); err == nil {
			t.Errorf("%q is accepted", bad)
		}
		if _, err := Parse(nil, bad[len(bad)-1:]); err == nil {
			t.Errorf("--text %q is accepted", bad)
		}
	}
	if all, _ := Parse([]string{"x.jpg", "+", "with laces", "-", "red"}, nil); all[0].String() !=
		"x.jpg + with laces - red" || all[0].IsPhoto() || all[0].Photo() != "x.jpg" {
		t.Error(all[0])
	}
	for _, c := range []struct {
		of   Phrase
		want string
	}{{Phrase{w("a"), minus(p("x"))}, ""}, {Phrase{p("x"), p("y")}, ""}, {Phrase{w("a"), p("y"), minus(p("x"))}, "y"}} {
		if got := c.of.Photo(); got != c.want {
			t.Errorf("%s: %q, want %q", c.of, got, c.want)
		}
	}
}

func TestVector(t *testing.T) {
	vectors := map[string][]float32{"east": {5, 0}, "north": {0, 0.25}, "zero": {0, 0}, "nan": {float32(math.NaN()), 1}}
	of := func(t Term) ([]float32, error) { return vectors[t.Words], nil }
	half := float32(math.Sqrt(0.5))
	for _, c := range []struct {
		phrase Phrase
		want   []float32
	}{
		{Phrase{{Words: "east"}}, []float32{1, 0}},
		{Phrase{{Words: "east"}, {Words: "north"}}, []float32{half, half}},
		{Phrase{{Words: "east"}, {Words: "north", Minus: true}}, []float32{half, -half}},
	} {
		if got, err := c.phrase.Vector(of); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", c.phrase, got, err)
		}
	}
	for _, p := range []Phrase{{{Words: "zero"}}, {{Words: "nan"}}, {{Words: "east"}, {Words: "east", Minus: true}}} {
		if got, err := p.Vector(of); err == nil {
			t.Errorf("%s: %v", p, got)
		}
	}
}
