// Package tokenizer turns texts into the ids of their tokens as a tokenizer.json of Hugging Face says: byte-level BPE
// (CLIP), unigrams of SentencePiece (SigLIP) and BPE with bytes for unknown characters (SigLIP 2). The ids are those
// of Hugging Face's library. Decoding, truncation and padding of the file are not read: callers cut and pad.
package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	utf8text "golang.org/x/text/encoding/unicode"
)

// maxText bounds a text, and maxNormal what normalizers make of it, in bytes.
const (
	maxText   = 128 << 10
	maxNormal = 1 << 20
)

// Tokenizer is what a tokenizer.json describes. It is safe for concurrent use.
type Tokenizer struct {
	ids           map[string]int32
	added         [2]addedTokens // found in the text as it is, and in the normalized text
	normalize     []normalizer
	split         []splitter
	model         model
	before, after []int32 // ids around every text
	maxID         int32
	padID         *int32
}

// model turns a piece of normalized text into ids.
type model interface {
	encode(e *workLimit, piece string, ids []int32) []int32
}

// Encode returns the ids of a text between those that the tokenizer puts around every text. If these are more than
// most, the last ids of the text are left out. Bytes that are not UTF-8 count as U+FFFD, as in WHATWG's decoder.
func (t *Tokenizer) Encode(text string, most int) ([]int32, error) {
	ids, _, err := t.EncodeTruncated(text, most)
	return ids, err
}

// EncodeTruncated is Encode, and returns how many ids the whole text has.
func (t *Tokenizer) EncodeTruncated(text string, most int) (ids []int32, whole int, err error) {
	if len(text) > maxText {
		return nil, 0, fmt.Errorf("the text has %d bytes: at most %d are allowed", len(text), maxText)
	}
	around := len(t.before) + len(t.after)
	if most < around {
		return nil, 0, fmt.Errorf("%d tokens are allowed, but the tokenizer adds %d to every text", most, around)
	}
	if !utf8.ValidString(text) {
		valid, err := utf8text.UTF8.NewDecoder().String(text)
		if err != nil {
			return nil, 0, err
		}
		text = valid
	}
	e := &workLimit{maxWork}
	ids = slices.Clone(t.before)
	for _, raw := range t.added[0].split(e, text) {
		if raw.token {
			ids = append(ids, raw.id)
			continue
		}
		normal, err := t.applyNormalizers(e, raw.text)
		if err != nil {
			return nil, 0, err
		}
		for i, part := range t.added[1].split(e, normal.text) {
			if part.token {
				ids = append(ids, part.id)
				continue
			}
			if ids, err = t.encode(e, part.text, raw.first && normal.head > 0 && i == 0, ids); err != nil {
				return nil, 0, err
			}
		}
	}
	whole = len(ids) + len(t.after)
	ids = ids[:min(len(ids), most-len(t.after))]
	return append(ids, t.after...), whole, nil
}

// encode appends the ids of a normalized text without added tokens. first is set if it begins where the text does.
func (t *Tokenizer) encode(e *workLimit, text string, first bool, ids []int32) ([]int32, error) {
	pieces := []string{text}
	for _, s := range t.split {
		var next []string
		size, begins := 0, false
		for i, p := range pieces {
			for j, q := range s(e, p, first && i == 0) {
				if q != "" {
					next = append(next, q)
					size += len(q)
					begins = begins || i == 0 && j == 0
				}
			}
			if size > maxNormal {
				return nil, tooLongError()
			}
		}
		if err := e.check(); err != nil {
			return nil, err
		}
		pieces, first = next, first && begins
	}
	for _, p := range pieces {
		if p != "" {
			ids = t.model.encode(e, p, ids)
		}
	}
	return ids, e.check()
}

// applyNormalizers applies the normalizers.
func (t *Tokenizer) applyNormalizers(e *workLimit, text string) (normalText, error) {
	n := normalText{text, 1}
	for _, change := range t.normalize {
		if n = change(e, n); len(n.text) > maxNormal {
			return n, tooLongError()
		}
	}
	return n, e.check()
}

func tooLongError() error {
	return fmt.Errorf("the tokenizer makes more than %d bytes of the text", maxNormal)
}

// ID returns the id of a token, and whether there is one.
func (t *Tokenizer) ID(token string) (int32, bool) {
	id, ok := t.ids[token]
	return id, ok
}

// IsUnigram reports whether the model is one of unigrams.
func (t *Tokenizer) IsUnigram() bool {
	_, is := t.model.(*unigram)
	return is
}

// MaxID is the largest id.
func (t *Tokenizer) MaxID() int32 { return t.maxID }

// PadID returns the id that the file names for padding, and whether it names one.
func (t *Tokenizer) PadID() (int32, bool) {
	if t.padID == nil {
		return 0, false
	}
	return *t.padID, true
}

// addedTokens are tokens that are found before the model sees a text.
type addedTokens struct {
	list  map[string]addedToken
	first [256]bool // bytes that one begins with
	most  int       // bytes of the longest
}

type addedToken struct {
	id                         int32
	singleWord, lstrip, rstrip bool
}

// part is a part of a text: an added token, or what is between two.
type part struct {
	text         string
	id           int32
	token, first bool
}

func (a *addedTokens) add(content string, t addedToken) {
	if content == "" {
		return
	}
	if a.list == nil {
		a.list = map[string]addedToken{}
	}
	a.list[content] = t
	a.first[content[0]] = true
	a.most = max(a.most, len(content))
}

// split finds the added tokens, the leftmost first and the longest of these.
func (a *addedTokens) split(e *workLimit, text string) []part {
	if a.list == nil {
		return []part{{text: text, first: true}}
	}
	var parts []part
	from, blank := 0, 0 // blank is the end of the last white space behind a token
	between := func(to int) {
		if from < to {
			parts = append(parts, part{text: text[from:to], first: from == 0})
		}
	}
	for i := 0; i < len(text); {
		t, n := a.longestAt(e, text, i)
		if n == 0 {
			i++
			continue
		}
		start, stop := i, i+n
		i = stop
		if t.singleWord && (endsWithWord(text[:start]) || startsWithWord(text[stop:])) {
			continue
		}
		if t.lstrip {
			start = from + len(strings.TrimRightFunc(text[from:max(from, start)], isSpace))
		}
		if t.rstrip {
			if blank < stop {
				blank = len(text) - len(strings.TrimLeftFunc(text[stop:], isSpace))
			}
			stop = blank
		}
		between(start)
		parts = append(parts, part{id: t.id, token: true})
		from = stop
	}
	between(len(text))
	return parts
}

// longestAt returns the longest token at a byte of the text, with its length; 0 without one.
func (a *addedTokens) longestAt(e *workLimit, text string, i int) (addedToken, int) {
	if !a.first[text[i]] || !e.lookUp(min(a.most, len(text)-i)) {
		return addedToken{}, 0
	}
	for n := min(a.most, len(text)-i); n > 0; n-- {
		if t, ok := a.list[text[i:i+n]]; ok {
			return t, n
		}
	}
	return addedToken{}, 0
}
