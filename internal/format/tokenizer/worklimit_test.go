package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// encoder reads a tokenizer of the parts given; the default model joins nothing.
func encoder(t *testing.T, added, split, model string) *Tokenizer {
	t.Helper()
	if model == "" {
		model = `{"type": "BPE", "vocab": {"a": 0, "b": 1, " ": 2}, "merges": [], "unk_token": "a"}`
	}
	tok, err := Parse([]byte(fmt.Sprintf(`{"added_tokens": %s, "pre_tokenizer": %s, "model": %s}`, added, split,
		model)))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestEffortIsBounded encodes texts of the longest length for which a tokenizer would take the square of their length.
func TestEffortIsBounded(t *testing.T) {
	split := func(regex, behavior string) string {
		return fmt.Sprintf(`{"type": "Split", "pattern": {"Regex": %q}, "behavior": %q}`, regex, behavior)
	}
	var scored []string
	for n := 1; n <= maxToken; n++ {
		scored = append(scored, fmt.Sprintf("[%q, -1]", strings.Repeat("a", n)))
	}
	long := fmt.Sprintf(`[{"id": 3, "content": %q}]`, strings.Repeat("a", maxToken-1)+"b")
	unigrams := fmt.Sprintf(`{"type": "Unigram", "unk_id": 0, "vocab": [%s]}`, strings.Join(scored, ", "))
	for name, c := range map[string]struct {
		added, split, model string
		text                string
		ends                bool // without an error
	}{
		"a pattern that looks to the end":   {"[]", split("a.*b|a", "Isolated"), "", "a", false},
		"a pattern of many steps":           {"[]", split("(?:a{1,100}.*){2}b|a", "Isolated"), "", "a", false},
		"a pattern that is not found":       {"[]", split("a.*b", "Isolated"), "", "a", true},
		"matches that are joined":           {"[]", split("a", "Contiguous"), "", "a", true},
		"unigrams of all lengths":           {"[]", "null", unigrams, "a", false},
		"an added token that is not found":  {long, "null", "", "a", false},
		"a long word":                       {"[]", "null", "", "a", true},
		"a long word of unknown characters": {"[]", "null", "", "é", true},
	} {
		tok := encoder(t, c.added, c.split, c.model)
		_, err := tok.Encode(strings.Repeat(c.text, maxText/len(c.text)), 64)
		switch {
		case c.ends && err != nil:
			t.Errorf("%s: %v", name, err)
		case !c.ends && (err == nil || !strings.Contains(err.Error(), "steps for the text")):
			t.Errorf("%s: %v, want an error of its steps", name, err)
		}
		if _, err := tok.Encode(strings.Repeat(c.text, 50), 64); err != nil {
			t.Errorf("%s, a short text: %v", name, err)
		}
	}
}

// TestEffortOfPatterns counts the characters that patterns read: about as many as there are.
func TestEffortOfPatterns(t *testing.T) {
	p, err := compile(byteWords)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("It's 2 o'clock, they'll say.  ", 1000)
	e := &workLimit{maxWork}
	p.spans(e, text)
	if read := (maxWork - e.left) / p.steps; read < len(text) || read > 3*len(text) {
		t.Errorf("%d characters of %d were read", read, len(text))
	}
}

// TestContiguous joins the matches that follow each other, and what is between.
func TestContiguous(t *testing.T) {
	got := behaviors["Contiguous"]([]span{{"a", true}, {"b", true}, {"-", false}, {"c", true}})
	if want := []string{"ab", "-", "c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
