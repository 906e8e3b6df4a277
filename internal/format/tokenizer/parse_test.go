package tokenizer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/mutations"
)

// small is a tokenizer.json whose part named by a key is replaced by a text.
func small(key, by string) string {
	parts := map[string]string{
		"added":     `[{"id": 4, "content": "<s>", "special": true}]`,
		"normalize": `{"type": "Lowercase"}`,
		"split":     `{"type": "Metaspace", "replacement": "_", "prepend_scheme": "never"}`,
		"post":      `{"type": "BertProcessing", "sep": ["<s>", 4], "cls": ["a", 0]}`,
		"model": `{"type": "BPE", "unk_token": "?", "vocab": {"a": 0, "b": 1, "ab": 2, "?": 3, "abab": 5},` +
			`"merges": ["a b", "ab ab"]}`,
	}
	if key != "" {
		parts[key] = by
	}
	return fmt.Sprintf(`{"added_tokens": %s, "normalizer": %s, "pre_tokenizer": %s, "post_processor": %s, "model": %s}`,
		parts["added"], parts["normalize"], parts["split"], parts["post"], parts["model"])
}

func unigramOf(vocab, more string) string {
	return `{"type": "Unigram", "vocab": ` + vocab + more + `}`
}

// TestHostile: what a file may not say is an error that names it.
func TestHostile(t *testing.T) {
	replace := func(pattern string) string {
		return fmt.Sprintf(`{"type": "Replace", "pattern": %s, "content": "x"}`, pattern)
	}
	many := strings.TrimSuffix(strings.Repeat(`{"type": "Lowercase"},`, 40), ",")
	for _, c := range []struct{ key, by, want string }{
		{"added", `[{"id": 1099511627776, "content": "<x>"}]`, "the id 1099511627776 must be from 0 to 2097151"},
		{"added", `[{"id": 9, "content": "` + strings.Repeat("x", 2000) + `"}]`, "a token of 2000 bytes"},
		{"normalize", `{"type": "Sequence", "normalizers": [` + many + `]}`, "more than 32 normalizers"},
		{"normalize", `{"type": "Nmt"}`, `the type "Nmt" is not supported`},
		{"normalize", `{"type": "Precompiled", "precompiled_charsmap": "AAEA/w=="}`, "precompiled_charsmap is cut off"},
		{"normalize", replace(`{"String": ""}`), "the pattern is empty"},
		{"normalize", replace(`{}`), "must be a String or a Regex"},
		{"normalize", replace(`{"Regex": "x*"}`), "matches the empty text"},
		{"normalize", replace(`{"Regex": "(((a{1,99}){1,99}){1,99}){1,99}b"}`), "repeat"},
		{"normalize", replace(`{"Regex": "(a|aa){1,999}b"}`), "steps: at most 500"},
		{"normalize", replace(`{"Regex": "(a)\\1"}`), "not supported"},
		{"normalize", replace(`{"Regex": "a(?=b)"}`), "not supported"},
		{"normalize", replace(`{"Regex": "[a&&[b]]"}`), "class within a class"},
		{"normalize", replace(`{"Regex": "\\bx"}`), `has \b, which is not supported`},
		{"normalize", replace(`{"Regex": "` + strings.Repeat("x", 2000) + `"}`), "a pattern of 2000 bytes"},
		{"split", `{"type": "Split", "pattern": {"String": "x"}, "behavior": "Melted"}`,
			`the behavior "Melted" is not one of`},
		{"split", `{"type": "Metaspace", "replacement": "xy"}`, "must be one character"},
		{"split", `{"type": "Metaspace", "replacement": "_", "prepend_scheme": "often"}`,
			"not one of always, first, never"},
		{"split", strings.Repeat(`{"type": "Sequence", "pretokenizers": [`, 300) + strings.Repeat("]}", 300),
			"more than 200 values"},
		{"post", `{"type": "BertProcessing", "sep": ["<s>"], "cls": ["a", 0]}`,
			"sep and cls must be a token and its id"},
		{"post", `{"type": "BertProcessing", "sep": ["<s>", -1], "cls": ["a", 0]}`, "the id -1 must be"},
		{"post", `{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {}}`,
			`"x" is not in special_tokens`},
		{"post", `{"type": "TemplateProcessing", "single": []}`, "single has 0 texts"},
		{"post", `{"type": "TemplateProcessing", "single": [{"Sequence": {}}, {"SpecialToken": {"id": "x"}}],` +
			`"special_tokens": {"x": {"ids": [` + strings.TrimSuffix(strings.Repeat("1,", 50), ",") + `]}}}`,
			"more than 16 ids"},
		{"model", "null", "model is missing"},
		{"model", `{"type": "WordPiece"}`, `the type "WordPiece" is not supported`},
		{"model", `{"type": "BPE", "vocab": {"a": 1099511627776}, "merges": []}`, "the id 1099511627776 must be"},
		{"model", `{"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}`, "number 0 joins"},
		{"model", `{"type": "BPE", "vocab": {"a": 0}, "merges": ["a a a"]}`, "number 0 has 3 tokens: must be 2"},
		{"model", `{"type": "BPE", "unk_token": "?", "vocab": {"a": 0}, "merges": []}`,
			`unk_token "?" is not in vocab`},
		{"model", unigramOf(`[["a", -1]]`, ""), "unk_id must be the number of a token"},
		{"model", unigramOf(`[["a", -1]]`, `, "unk_id": 1`), "unk_id must be the number of a token, from 0 to 0"},
		{"model", unigramOf(`[["a"]]`, `, "unk_id": 0`), "must be a token and its score"},
		{"model", unigramOf(`[["`+strings.Repeat("x", 2000)+`", -1]]`, `, "unk_id": 0`), "a token of 2000 bytes"},
	} {
		if _, err := Parse([]byte(small(c.key, c.by))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.80s: %v, want %q", c.key, c.by, err, c.want)
		}
	}
}

// TestExplosion: normalizers that make a text longer and longer end in an error.
func TestExplosion(t *testing.T) {
	double := `{"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaa"},`
	text := small("normalize", `{"type": "Sequence", "normalizers": [`+
		strings.TrimSuffix(strings.Repeat(double, 20), ",")+`]}`)
	tok, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.Encode("xxax", 77); err == nil || !strings.Contains(err.Error(), "makes more than 1048576 bytes") {
		t.Error(err)
	}
	if _, err := tok.Encode(strings.Repeat("x", maxText+1), 77); err == nil ||
		!strings.Contains(err.Error(), "at most 131072 are allowed") {
		t.Error(err)
	}
}

// TestEncode: ids of a tokenizer that a person can follow, and what is cut off.
func TestEncode(t *testing.T) {
	tok, err := Parse([]byte(small("", "")))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		most int
		want []int32
	}{
		{"ABABab", 77, []int32{0, 5, 2, 4}}, {"", 77, []int32{0, 4}}, {"ba", 77, []int32{0, 1, 0, 4}},
		{"axb", 77, []int32{0, 0, 3, 1, 4}}, {"a<s>b", 77, []int32{0, 0, 4, 1, 4}}, {"aaaaaa", 4, []int32{0, 0, 0, 4}},
		{"aaaaaa", 2, []int32{0, 4}},
	} {
		if got, err := tok.Encode(c.text, c.most); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	if _, err := tok.Encode("a", 1); err == nil {
		t.Error("there is no room for what is put around a text")
	}
	if id, ok := tok.ID("ab"); !ok || id != 2 || tok.MaxID() != 5 {
		t.Error(id, ok, tok.MaxID())
	}
}

// TestLookahead: white space before a word ends one character early, as in the patterns of GPT-2 and later.
func TestLookahead(t *testing.T) {
	p, err := compile(byteWords)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"a  b": "a| | b", "a   ": "a|   ", "a \t\tb c": "a| \t|\t|b| c",
		" \u00a0x": " |\u00a0|x"} {
		var got []string
		for _, s := range p.spans(&workLimit{maxWork}, text) {
			got = append(got, s.text)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestRead: errors name the file.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, []byte(small("model", "null")), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.HasPrefix(err.Error(), path+": model is missing") {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte(small("", "")), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err != nil {
		t.Error(err)
	}
}

func valid() []string {
	pairs := small("model", `{"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}`)
	return []string{small("", ""), pairs, small("model", unigramOf(`[["?", 0], ["a", -1.5], ["ab", -2]]`,
		`, "unk_id": 0`)),
		small("normalize",
			`{"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Strip", "strip_left": true},`+
				`{"type": "Replace", "pattern": {"Regex": "[\\s\\-]+"}, "content": " "}, {"type": "Prepend", "prepend": "a"}]}`),
		small("split", `{"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "\\p{L}+"},`+
			`"behavior": "Isolated", "invert": true}, {"type": "ByteLevel", "add_prefix_space": false}]}`),
		small("post", `{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "<s>"}}],`+
			`"special_tokens": {"<s>": {"ids": [4]}}}`)}
}

// within reports whether ids are as few as asked for, and of the vocabulary.
func within(tok *Tokenizer, ids []int32) bool {
	return len(ids) <= 77 && !slices.ContainsFunc(ids, func(id int32) bool { return id < 0 || id > tok.MaxID() })
}

// try reads a file, and encodes some texts if it is accepted.
func try(text []byte) error {
	tok, err := Parse(text)
	if err != nil {
		return err
	}
	for _, s := range []string{"", "ab ab, <s> b\u0301a", "\xff\x00", strings.Repeat("ab", 300)} {
		ids, err := tok.Encode(s, 77)
		if err != nil {
			continue
		}
		if !within(tok, ids) {
			panic(fmt.Sprint(ids))
		}
	}
	return nil
}

func TestMutations(t *testing.T) {
	mutations.Try(t, mutations.Reader{Name: "tokenizer.json", Valid: valid(), Read: try})
}

func FuzzParse(f *testing.F) {
	for _, text := range valid() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(_ *testing.T, text []byte) { _ = try(text) })
}

func FuzzEncode(f *testing.F) {
	var all []*Tokenizer
	for _, name := range []string{"clip", "siglip", "gemma"} {
		all = append(all, read(f, name))
	}
	for i := range 12 {
		f.Add(stringNumber(i))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range all {
			ids, err := tok.Encode(text, 77)
			if err == nil && !within(tok, ids) {
				t.Errorf("%q: %v", text, ids)
			}
		}
	})
}
