package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

type (
	fat struct {
		Text  [10]string `json:"text"`
		Of    *[20]int   `json:"of"`
		Float float64    `json:"float"`
	}
	page struct {
		Fat   []fat             `json:"fat"`
		Named map[string]fat    `json:"named"`
		Near  []*fat            `json:"near"`
		Rates [][]float64       `json:"rates"`
		Words []string          `json:"words"`
		Any   map[string]any    `json:"any"`
		Raw   json.RawMessage   `json:"raw"`
		Later []json.RawMessage `json:"later"`
		Array [3]float64        `json:"array"`
		Left  func()            `json:"-"`
	}
)

// texts are JSON of n elements that takes far more memory than its bytes.
func texts(n int) map[string]string {
	list := func(e string) string { return "[" + strings.Repeat(e+",", n-1) + e + "]" }
	var named strings.Builder
	for i := range n {
		fmt.Fprintf(&named, `"%x":{},`, i)
	}
	object := "{" + strings.TrimSuffix(named.String(), ",") + "}"
	return map[string]string{
		"objects":          `{"fat":` + list("{}") + `}`,
		"pointers":         `{"near":` + list("{}") + `}`,
		"pointers within":  `{"near":` + list(`{"of":[]}`) + `}`,
		"capitals":         `{"FAT":` + list("{}") + `}`,
		"an escaped name":  `{"f\u0061t":` + list("{}") + `}`,
		"a map":            `{"named":` + object + `}`,
		"lists":            `{"rates":` + list("[1]") + `}`,
		"words":            `{"words":` + list(`""`) + `}`,
		"anything":         `{"any":{"x":` + list("0") + `}}`,
		"maps of anything": `{"any":{"x":` + list(`{"a":[{}]}`) + `}}`,
		"later":            `{"later":` + list("0") + `}`,
	}
}

// What decoding takes is known before: at most what is counted, and counted at most eight times too high.
func TestWithinCountsWhatDecodingTakes(t *testing.T) {
	const n = 200_000
	for name, text := range texts(n) {
		var into page
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := json.Unmarshal([]byte(text), &into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		kept := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		runtime.KeepAlive(into)
		var s scanner
		err := s.scan([]byte(text), reflect.TypeOf(into), math.Inf(1))
		need := s.need
		if err != nil || int64(need) < kept || int64(need) > 8*kept+8*int64(len(text)) {
			t.Errorf("%s: counted %.0f, %d bytes kept of a text of %d: %v", name, need, kept, len(text), err)
		}
	}
}

func TestWithinRefusesBeforeDecoding(t *testing.T) {
	budgettest.Limit(t, 8<<20)
	for name, text := range texts(300_000) {
		if name == "words" || name == "later" || name == "lists" {
			text = strings.ReplaceAll(text, "]}", strings.Repeat(`,""`, 400_000)+"]}")
		}
		for how, read := range map[string]func([]byte, any) error{"": Unmarshal, "loose": UnmarshalLoose,
			"known": UnmarshalKnown, "exact": UnmarshalExact} {
			var into page
			var err error
			taken := budgettest.Allocated(func() { err = read([]byte(text), &into) })
			var over *budget.Error
			if !errors.As(err, &over) || taken > 16<<20 {
				t.Errorf("%s %s: %v with %d bytes", name, how, err, taken)
			}
		}
	}
	// What is not kept costs nothing: a field that nobody knows, and one that JSON leaves alone.
	for _, field := range []string{"other", "-", "Left"} {
		text := fmt.Sprintf(`{"%s":[%s0],"array":[1,2,3]}`, field, strings.Repeat("{},", 1_000_000))
		if err := UnmarshalLoose([]byte(text), new(page)); err != nil {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestDepth(t *testing.T) {
	for _, open := range []string{"[", `{"a":`, `{"any":[`} {
		in, close := "0", map[byte]string{'[': "]", '{': "}"}
		nested := func(n int) string {
			text := strings.Repeat(open, n) + in
			for i := len(text) - 1; i >= 0; i-- {
				text += close[text[i]]
			}
			return text
		}
		var v any
		if err := UnmarshalLoose([]byte(nested(maxDepth/2)), &v); err != nil {
			t.Errorf("%s: %v", open, err)
		}
		var e *Error
		if err := UnmarshalLoose([]byte(nested(maxDepth+1)), &v); !errors.As(err, &e) {
			t.Errorf("%s: %v", open, err)
		}
	}
}

func TestKnown(t *testing.T) {
	type spec struct {
		A int `json:"a"`
	}
	type file struct {
		Format string `json:"format"`
		*spec
	}
	for text, want := range map[string]string{
		`{"a":1}`:            "",
		` {"format":"x"} `:   "",
		`{"a":1} {}`:         "there is more after the end",
		`{"b":1}`:            `unknown field "b"`,
		`{"a":"x"}`:          "which it cannot be",
		`{"a":1`:             "ends too early",
		`{"a":1}` + "\x00":   "there is more after the end",
		``:                   "ends too early",
		`{"format":null}`:    "",
		`[{"a":1}]`:          "which it cannot be",
		`{"a":1,"a":2}`:      "",
		"\"\\":               "ends too early",
		`{"a":1}` + "\"\\\"": "there is more after the end",
	} {
		f := file{spec: new(spec)}
		err := UnmarshalKnown([]byte(text), &f)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzWithin(f *testing.F) {
	for _, text := range texts(3) {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"fat":[{"text":["\"]"]}],"x\"":{"y":[`))
	f.Add([]byte("]]}}[\"\\"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, v := range []any{new(page), new(any), nil, new([]map[string]*fat), page{}} {
			for _, s := range []scanner{{}, {strict: true}, {strict: true, known: true, exact: true}} {
				_ = s.scan(text, reflect.TypeOf(v), 1<<30) // it does not panic
			}
		}
	})
}
