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
		got, err := ParsePhrases(c.args, c.texts)
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%q: %+v, %v", c.args, got, err)
		}
	}
	for _, args := range []string{"+", "+ a", "a +", "a + -", "a + + b", "-"} {
		_, err := ParsePhrases(strings.Fields(args), nil)
		if err == nil || !strings.Contains(err.Error(), "stands between two") {
			t.Errorf("%s: %v", args, err)
		}
	}
	for _, bad := range [][]string{{""}, {"  "}, {"a", "+", ""}} {
		if _, err := ParsePhrases(bad, nil); err == nil {
			t.Errorf("%q is accepted", bad)
		}
		if _, err := ParsePhrases(nil, bad[len(bad)-1:]); err == nil {
			t.Errorf("--text %q is accepted", bad)
		}
	}
	if all, _ := ParsePhrases([]string{"x.jpg", "+", "with laces", "-", "red"}, nil); all[0].String() !=
		"x.jpg + with laces - red" || all[0].IsPhoto() {
		t.Error(all[0])
	}
}

func TestAddUp(t *testing.T) {
	east, north := Query{Name: "east", Vector: []float32{5, 0}}, Query{Name: "north", Vector: []float32{0, 0.25}}
	half := float32(math.Sqrt(0.5))
	for _, c := range []struct {
		terms []Summand
		want  []float32
		parts int
	}{
		{[]Summand{{Query: east}}, []float32{1, 0}, 1},
		{[]Summand{{Query: east}, {Query: north}}, []float32{half, half}, 2},
		{[]Summand{{Query: east}, {Query: north, Minus: true}}, []float32{half, -half}, 1},
		{[]Summand{{Query: Query{Summed: true, Vector: []float32{0, 3}}}, {Query: east}}, []float32{half, half}, 1},
	} {
		got, err := SumQueries("sum", c.terms)
		if err != nil || !slices.Equal(got.Vector, c.want) || !got.Summed || len(got.terms()) != c.parts {
			t.Errorf("%+v: %+v, %v", c.terms, got, err)
		}
	}
	for _, bad := range [][]Summand{{{Query: Query{Vector: []float32{0, 0}}}},
		{{Query: Query{Vector: []float32{float32(math.NaN()), 1}}}}, {{Query: east}, {Query: east, Minus: true}},
		{{Query: east}, {Query: Query{Vector: []float32{1}}}}} {
		if got, err := SumQueries("sum", bad); err == nil {
			t.Errorf("%+v: %+v", bad, got)
		}
	}
}
