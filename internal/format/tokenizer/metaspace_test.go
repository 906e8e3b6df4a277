package tokenizer

import (
	"encoding/json"
	"maps"
	"os"
	"testing"
)

// With the scheme "first", a Metaspace puts its character only before a piece that begins where the text begins: not if
// a normalizer or a split has removed what stood there. One exotic case differs: a Prepend whose prefix is then split.
func TestMetaspaceFirst(t *testing.T) {
	b, err := os.ReadFile("testdata/metaspace_first.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Base  map[string]json.RawMessage
		Texts []string
		Cases []struct {
			Normalizer   json.RawMessage
			PreTokenizer json.RawMessage `json:"pre_tokenizer"`
			Hashes       []uint32
		}
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	for _, c := range golden.Cases {
		parts := maps.Clone(golden.Base)
		parts["normalizer"], parts["pre_tokenizer"] = c.Normalizer, c.PreTokenizer
		text, err := json.Marshal(parts)
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range golden.Texts {
			ids, err := tokens.Encode(s, 1000)
			if err != nil {
				t.Fatal(err)
			}
			h := uint32(2166136261)
			for _, id := range ids {
				h = (h ^ uint32(id)) * 16777619
			}
			if h != c.Hashes[i] {
				t.Errorf("%s, %s: the ids of %q are %v, another hash than Hugging Face's", c.Normalizer, c.PreTokenizer,
					s, ids)
			}
		}
	}
}
