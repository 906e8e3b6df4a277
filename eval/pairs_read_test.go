package eval

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

func TestReadPairs(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []NamedPair
	}{
		{"LFW", "2\t1\nAnn\t1\t12\nAnn\t3\tBob\t4\nCem\t1\t2\nBob\t1\tAnn\t10000\n", []NamedPair{
			{"Ann_0001", "Ann_0012", true, 0, 2}, {"Ann_0003", "Bob_0004", false, 0, 3},
			{"Cem_0001", "Cem_0002", true, 1, 4}, {"Bob_0001", "Ann_10000", false, 1, 5}}},
		{"development", "1\r\nAnn 1 2\r\n\r\nAnn 1 Bob 1", []NamedPair{{"Ann_0001", "Ann_0002", true, 0, 2},
			{"Ann_0001", "Bob_0001", false, 0, 4}}},
		{"CSV", "a.jpg,\"b, c.jpg\",same\n1,2, Different \n1,2,0\n1,3,TRUE\n", []NamedPair{
			{"a.jpg", "b, c.jpg", true, 0, 1}, {"1", "2", false, 0, 2}, {"1", "2", false, 1, 3},
			{"1", "3", true, 1, 4}}},
		{"header and folds", "First,second,SAME,fold\nx,y,1,7\nx,z,0,0\n", []NamedPair{{"x", "y", true, 7, 2},
			{"x", "z", false, 0, 3}}},
		{"any header with a fold", "a,b,same,fold\nx,y,same,1\nx,z,different,0\n", []NamedPair{
			{"x", "y", true, 1, 2}, {"x", "z", false, 0, 3}}},
		{"tabs and a header", "img1\timg2\tis_same\nx\ty\t1\nx\tz\t0\n", []NamedPair{{"x", "y", true, 0, 2},
			{"x", "z", false, 0, 3}}},
		{"a mark, semicolons and carriage returns", "\ufeffx;y;1;0\rx;z;0;1\r", []NamedPair{{"x", "y", true, 0, 1},
			{"x", "z", false, 1, 2}}},
		{"a pair in line 1", "x,y,same\n", []NamedPair{{"x", "y", true, 0, 1}}},
	} {
		got, err := ReadPairs(strings.NewReader(c.text), "L")
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

// TestReadPairsNames: an error names the file, the line and what is wanted there.
func TestReadPairsNames(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "no pairs",
		"\n\n":                          "no pairs",
		"1 1\nAnn 1 2\n":                "1 pairs, but the first line announces 1 folds of 1 pairs",
		"1 1\nAnn 1 Bob 2\nAnn 1 Bob 2": "L:2: \"Ann 1 Bob 2\": must be NAME I J",
		"1 1\nAnn 1 2\nAnn 1 2\n":       "L:3: \"Ann 1 2\": must be NAME I OTHER J",
		"1 1\nAnn 1 x\nAnn 1 Bob 2":     "L:2:",
		"1 1\nAnn 1 -2\nAnn 1 Bob 2":    "photos must be numbers",
		"1 1\nA 1 2\nA 1 B 2\nA 1 2\n":  "L:4: there are more than the 2 pairs",
		"0 5\n":                         "L:1:",
		"1001 1\n":                      "up to 1000",
		"10 99999999999\n":              "L:1:",
		"a,b\n":                         "L:1: 2 fields",
		"a,b,same\na,b,perhaps\n":       "L:2: \"perhaps\"",
		"a,b,same\na,,same\n":           "L:2: a name of the pair is empty",
		"a,b,same,1\na,b,same\n":        "L:2: some pairs have a fold",
		"a,b,same,-1\n":                 "fold \"-1\"",
		"a,b,same,1000\n":               "from 0 to 999",
		"a,\"b\n":                       "L:",
		"id1,id2,same\n":                "no pairs",
		"a,b,same,first\nx,y,1,0\n":     "L:1: fold \"first\": must be a number from 0 to 999",
		"\xff\xfea\x00,\x00":            "UTF-16",
	} {
		if _, err := ReadPairs(strings.NewReader(text), "L"); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "L:") {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestCut: ten folds, each with its share of both kinds.
func TestCut(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		kind := "different"
		if i < 100 {
			kind = "same"
		}
		fmt.Fprintf(&b, "%d,%d,%s\n", i, i+1, kind)
	}
	pairs, err := ReadPairs(strings.NewReader(b.String()), "L")
	if err != nil {
		t.Fatal(err)
	}
	var same, different [10]int
	for _, p := range pairs {
		if p.Same {
			same[p.Fold]++
		} else {
			different[p.Fold]++
		}
	}
	for f := range 10 {
		if same[f] != 10 || different[f] != 20 {
			t.Errorf("fold %d has %d and %d pairs", f, same[f], different[f])
		}
	}
}

// FuzzReadPairs: any text is a list or an error that names the file, never a panic; what
// comes of it is in order.
func FuzzReadPairs(f *testing.F) {
	for _, s := range []string{"1 1\nAnn 1 2\nAnn 1 Bob 2\n", "a,b,same\nc,d,0,3\n", "a,\"", "10\t300\n", "1\n",
		"x,y,1\nz,w,0", "id1,id2,same\n1,2,1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		pairs, err := ReadPairs(strings.NewReader(s), "LIST")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "LIST:") {
				t.Errorf("%v", err)
			}
			return
		}
		line := 0
		for _, p := range pairs {
			if p.A == "" || p.B == "" || p.Fold < 0 || p.Fold >= maxFolds || p.Line <= line {
				t.Errorf("%+v after line %d", p, line)
			}
			line = p.Line
		}
		if len(pairs) == 0 {
			t.Error("no pairs and no error")
		}
	})
}

// A list that needs more than the limit on memory is refused while it is read.
func TestReadPairsWithinMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 20))
	for name, list := range map[string]struct{ head, line string }{
		"CSV":        {"first,second,same\n", "a,b,1\n"},
		"LFW":        {"100000\n", "a 1 2\n"},
		"long names": {"", strings.Repeat("a", 60_000) + ",b,same\n"},
	} {
		var over *budget.Error
		few := strings.NewReader(list.head + strings.Repeat(list.line, 100))
		if _, err := ReadPairs(few, name); errors.As(err, &over) != (name == "long names") {
			t.Errorf("%s: 100 pairs: %v", name, err)
		}
		more := &repeatedReader{text: list.line, left: 100_000}
		if _, err := ReadPairs(io.MultiReader(strings.NewReader(list.head), more), name); !errors.As(err, &over) {
			t.Errorf("%s: 100,000 pairs: %v", name, err)
		}
		if more.left == 0 {
			t.Errorf("%s: was read to its end", name)
		}
	}
}

// repeatedReader is a text that comes several times.
type repeatedReader struct {
	text, rest string
	left       int
}

func (r *repeatedReader) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.rest = r.text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
