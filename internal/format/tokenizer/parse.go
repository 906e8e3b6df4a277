package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// The bounds on a file.
const (
	maxFile   = 128 << 20
	maxTokens = 1 << 20
	maxMerges = 1 << 21
	maxID     = 1<<21 - 1
	maxAround = 16 // ids before and after a text
	maxParts  = 32 // normalizers, and parts of the others, in all
)

// FileName is the name of the file in a folder of Hugging Face.
const FileName = "tokenizer.json"

// Read reads the tokenizer.json of a folder.
func Read(dir string) (*Tokenizer, error) {
	path := filepath.Join(dir, FileName)
	text, err := fileinfo.ReadAtMost(path, "a tokenizer", maxFile)
	if err != nil {
		return nil, err
	}
	t, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// file is a tokenizer.json.
type file struct {
	AddedTokens   []addedJSON `json:"added_tokens"`
	Normalizer    *component  `json:"normalizer"`
	PreTokenizer  *component  `json:"pre_tokenizer"`
	PostProcessor *component  `json:"post_processor"`
	Model         *modelJSON  `json:"model"`
	Padding       *struct {
		ID int64 `json:"pad_id"`
	} `json:"padding"`
}

type addedJSON struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// component is a normalizer, a pre-tokenizer or a post-processor.
type component struct {
	Type          string       `json:"type"`
	Normalizers   []*component `json:"normalizers"`
	PreTokenizers []*component `json:"pretokenizers"`
	Processors    []*component `json:"processors"`
	Pattern       *struct {
		String *string `json:"String"`
		Regex  *string `json:"Regex"`
	} `json:"pattern"`
	Content        string          `json:"content"`
	Left           bool            `json:"strip_left"`
	Right          bool            `json:"strip_right"`
	Prepend        string          `json:"prepend"`
	Charsmap       []byte          `json:"precompiled_charsmap"`
	Behavior       string          `json:"behavior"`
	Invert         bool            `json:"invert"`
	AddPrefixSpace *bool           `json:"add_prefix_space"`
	UseRegex       *bool           `json:"use_regex"`
	Replacement    string          `json:"replacement"`
	PrependScheme  string          `json:"prepend_scheme"`
	Split          *bool           `json:"split"`
	Sep            json.RawMessage `json:"sep"`
	Cls            json.RawMessage `json:"cls"`
	Single         []struct {
		Sequence     *struct{} `json:"Sequence"`
		SpecialToken *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
	} `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int64 `json:"ids"`
	} `json:"special_tokens"`
}

type modelJSON struct {
	Type         string          `json:"type"`
	UnkToken     *string         `json:"unk_token"`
	UnkID        *int64          `json:"unk_id"`
	Prefix       string          `json:"continuing_subword_prefix"`
	Suffix       string          `json:"end_of_word_suffix"`
	FuseUnk      bool            `json:"fuse_unk"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
	Vocab        json.RawMessage `json:"vocab"`
	Merges       json.RawMessage `json:"merges"`
}

// Parse reads the text of a tokenizer.json.
func Parse(text []byte) (*Tokenizer, error) {
	var f file
	if err := strictjson.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	if f.Model == nil {
		return nil, fmt.Errorf("model is missing")
	}
	t := &Tokenizer{ids: map[string]int32{}}
	p := parser{t: t}
	if err := p.model(f.Model); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if err := p.normalizers(f.Normalizer); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	if err := p.splitters(f.PreTokenizer); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if err := p.readAround(f.PostProcessor); err != nil {
		return nil, fmt.Errorf("post_processor: %w", err)
	}
	if err := p.added(f.AddedTokens); err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	if f.Padding != nil {
		id, err := checkID(f.Padding.ID)
		if err != nil {
			return nil, fmt.Errorf("padding: %w", err)
		}
		t.padID = &id
	}
	for _, id := range slices.Concat(slices.Collect(maps.Values(t.ids)), t.before, t.after) {
		t.maxID = max(t.maxID, id)
	}
	return t, nil
}

// checkID checks an id.
func checkID(id int64) (int32, error) {
	if id < 0 || id > maxID {
		return 0, fmt.Errorf("the id %d must be from 0 to %d", id, maxID)
	}
	return int32(id), nil
}

// parser reads the parts of a file into a tokenizer.
type parser struct {
	t     *Tokenizer
	parts int
}

// part counts a component.
func (p *parser) part() error {
	if p.parts++; p.parts > maxParts {
		return fmt.Errorf("more than %d normalizers, pre-tokenizers and post-processors", maxParts)
	}
	return nil
}

func notSupported(kind, supported string) error {
	return fmt.Errorf("the type %.40q is not supported: must be one of %s", kind, supported)
}

func (p *parser) model(m *modelJSON) error {
	switch {
	case m.Type == "Unigram":
		return p.unigram(m)
	case m.Type == "BPE", m.Type == "" && m.Merges != nil:
		return p.bpe(m)
	}
	return notSupported(m.Type, "BPE, Unigram")
}

// token adds a token to the vocabulary.
func (p *parser) token(content string, id int64) error {
	n, err := checkID(id)
	if err != nil {
		return fmt.Errorf("the token %.60q: %w", content, err)
	}
	p.t.ids[content] = n
	return nil
}

func (p *parser) bpe(m *modelJSON) error {
	var vocab map[string]int64
	if err := strictjson.Unmarshal(m.Vocab, &vocab); err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	if len(vocab) > maxTokens {
		return fmt.Errorf("vocab has %d tokens: at most %d are allowed", len(vocab), maxTokens)
	}
	for content, id := range vocab {
		if err := p.token(content, id); err != nil {
			return fmt.Errorf("vocab: %w", err)
		}
	}
	merges, err := parseMerges(m.Merges)
	if err != nil {
		return fmt.Errorf("merges: %w", err)
	}
	// The model has the vocabulary without the tokens that are added to it.
	b := &bpe{vocab: maps.Clone(p.t.ids), merges: make(map[[2]int32]merge, len(merges)), prefix: m.Prefix,
		suffix: m.Suffix, unknown: -1, fuse: m.FuseUnk, whole: m.IgnoreMerges, bytes: p.bytes(m)}
	for i, pair := range merges {
		left, ok1 := b.vocab[pair[0]]
		right, ok2 := b.vocab[pair[1]]
		joined, ok3 := b.vocab[pair[0]+strings.TrimPrefix(pair[1], m.Prefix)]
		if !ok1 || !ok2 || !ok3 {
			return fmt.Errorf("merges: number %d joins %.60q and %.60q: these and what they make must be in vocab", i,
				pair[0], pair[1])
		}
		b.merges[[2]int32{left, right}] = merge{int32(i), joined}
	}
	if m.UnkToken != nil {
		id, ok := b.vocab[*m.UnkToken]
		if !ok {
			return fmt.Errorf("unk_token %.60q is not in vocab", *m.UnkToken)
		}
		b.unknown = id
	}
	p.t.model = b
	return nil
}

// parseMerges reads merges: texts with a blank between both, or lists of both.
func parseMerges(raw json.RawMessage) ([][2]string, error) {
	var lists [][]string
	if rest := bytes.TrimLeft(raw, "[ \t\r\n"); len(rest) > 0 && rest[0] == '"' &&
		bytes.Count(raw[:len(raw)-len(rest)], []byte("[")) == 1 {
		var texts []string
		if err := strictjson.Unmarshal(raw, &texts); err != nil {
			return nil, err
		}
		for _, s := range texts {
			lists = append(lists, strings.Split(s, " "))
		}
	} else if err := strictjson.Unmarshal(raw, &lists); err != nil {
		return nil, err
	}
	if len(lists) > maxMerges {
		return nil, fmt.Errorf("%d merges: at most %d are allowed", len(lists), maxMerges)
	}
	out := make([][2]string, len(lists))
	for i, l := range lists {
		if len(l) != 2 {
			return nil, fmt.Errorf("number %d has %d tokens: must be 2", i, len(l))
		}
		out[i] = [2]string(l)
	}
	return out, nil
}

// bytes returns the ids of the tokens of bytes, -1 for missing ones; nil if they are not used.
func (p *parser) bytes(m *modelJSON) []int32 {
	if !m.ByteFallback {
		return nil
	}
	ids := make([]int32, 256)
	for b := range ids {
		ids[b] = -1
		if id, ok := p.t.ids[fmt.Sprintf("<0x%02X>", b)]; ok {
			ids[b] = id
		}
	}
	return ids
}

// scoredToken is a token with its score, which JSON has as a list of both.
type scoredToken struct {
	content string
	score   float64
}

func (s *scoredToken) UnmarshalJSON(text []byte) error {
	list := []any{&s.content, &s.score}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if len(list) != 2 {
		return fmt.Errorf("vocab: %.60q must be a token and its score", text)
	}
	return nil
}

func (p *parser) unigram(m *modelJSON) error {
	var vocab []scoredToken
	if err := strictjson.Unmarshal(m.Vocab, &vocab); err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	if len(vocab) > maxTokens {
		return fmt.Errorf("vocab has %d tokens: at most %d are allowed", len(vocab), maxTokens)
	}
	if m.UnkID == nil || *m.UnkID < 0 || *m.UnkID >= int64(len(vocab)) {
		return fmt.Errorf("unk_id must be the number of a token, from 0 to %d", len(vocab)-1)
	}
	u := &unigram{unknown: int32(*m.UnkID), scores: make([]float64, len(vocab))}
	for i, s := range vocab {
		p.t.ids[s.content] = int32(i)
		u.scores[i], u.longest = s.score, max(u.longest, len(s.content))
	}
	if u.longest > maxToken {
		return fmt.Errorf("vocab has a token of %d bytes: at most %d are allowed", u.longest, maxToken)
	}
	u.setLeast()
	if math.IsInf(u.least, 0) {
		return fmt.Errorf("vocab is empty")
	}
	u.vocab, u.bytes = maps.Clone(p.t.ids), p.bytes(m)
	p.t.model = u
	return nil
}

// maxToken bounds the tokens of a unigram model, and those that are added, as a bound on time.
const maxToken = 1024

func (p *parser) added(list []addedJSON) error {
	if len(list) > maxTokens {
		return fmt.Errorf("%d tokens: at most %d are allowed", len(list), maxTokens)
	}
	// Of equal texts the special token counts.
	slices.SortStableFunc(list, func(a, b addedJSON) int { return bySpecial(a.Special) - bySpecial(b.Special) })
	e := &workLimit{maxWork}
	for _, a := range list {
		if len(a.Content) > maxToken {
			return fmt.Errorf("a token of %d bytes: at most %d are allowed", len(a.Content), maxToken)
		}
		if _, ok := p.t.ids[a.Content]; !ok {
			if err := p.token(a.Content, a.ID); err != nil {
				return err
			}
		}
		text, to := a.Content, &p.t.added[0]
		if a.Normalized {
			to = &p.t.added[1]
			normal, err := p.t.applyNormalizers(e, text)
			if err != nil {
				return err
			}
			text = normal.text[:min(len(normal.text), maxToken+1)]
		}
		if len(text) <= maxToken {
			to.add(text, addedToken{p.t.ids[a.Content], a.SingleWord, a.LStrip, a.RStrip})
		}
	}
	return nil
}

func bySpecial(special bool) int {
	if special {
		return 0
	}
	return 1
}

// pattern compiles the pattern of a component.
func (c *component) pattern() (*pattern, error) {
	switch {
	case c.Pattern == nil, (c.Pattern.String == nil) == (c.Pattern.Regex == nil):
		return nil, fmt.Errorf("%s: pattern must be a String or a Regex", c.Type)
	case c.Pattern.Regex != nil:
		return compile(*c.Pattern.Regex)
	case *c.Pattern.String == "":
		return nil, fmt.Errorf("%s: the pattern is empty", c.Type)
	}
	return &pattern{text: *c.Pattern.String}, nil
}

func (p *parser) normalizers(c *component) error {
	if c == nil {
		return nil
	}
	if err := p.part(); err != nil {
		return err
	}
	var n normalizer
	switch c.Type {
	case "Sequence":
		for _, one := range c.Normalizers {
			if err := p.normalizers(one); err != nil {
				return err
			}
		}
		return nil
	case "NFC":
		n = perCharacter(compose)
	case "Lowercase":
		n = perCharacter(lower)
	case "Replace":
		pattern, err := c.pattern()
		if err != nil {
			return err
		}
		n = pattern.replacer(c.Content)
	case "Strip":
		n = strip(c.Left, c.Right)
	case "Prepend":
		n = prepend(c.Prepend)
	case "Precompiled":
		m, ok := parseCharsmap(c.Charsmap)
		if !ok {
			return fmt.Errorf("precompiled_charsmap is cut off")
		}
		n = perCharacter(m.normalize)
	default:
		return notSupported(c.Type, "Sequence, NFC, Lowercase, Replace, Strip, Prepend, Precompiled")
	}
	p.t.normalize = append(p.t.normalize, n)
	return nil
}

func (p *parser) splitters(c *component) error {
	if c == nil {
		return nil
	}
	if err := p.part(); err != nil {
		return err
	}
	var s splitter
	switch c.Type {
	case "Sequence":
		for _, one := range c.PreTokenizers {
			if err := p.splitters(one); err != nil {
				return err
			}
		}
		return nil
	case "Split":
		pattern, err := c.pattern()
		if err != nil {
			return err
		}
		behave := behaviors[c.Behavior]
		if behave == nil {
			return fmt.Errorf("the behavior %.40q is not one of %s", c.Behavior,
				strings.Join(slices.Sorted(maps.Keys(behaviors)), ", "))
		}
		s = splitBy(pattern, c.Invert, behave)
	case "ByteLevel":
		var words *pattern
		if c.UseRegex == nil || *c.UseRegex {
			var err error
			if words, err = compile(byteWords); err != nil {
				return err
			}
		}
		s = byteLevel(words, c.AddPrefixSpace == nil || *c.AddPrefixSpace)
	case "Metaspace":
		var err error
		if s, err = c.metaspace(); err != nil {
			return err
		}
	case "WhitespaceSplit":
		s = func(_ *workLimit, text string, _ bool) []string {
			words := strings.FieldsFunc(text, isSpace)
			if len(words) > 0 && !strings.HasPrefix(text, words[0]) {
				words = slices.Insert(words, 0, "")
			}
			return words
		}
	default:
		return notSupported(c.Type, "Sequence, Split, ByteLevel, Metaspace, WhitespaceSplit")
	}
	p.t.split = append(p.t.split, s)
	return nil
}

func (c *component) metaspace() (splitter, error) {
	scheme := c.PrependScheme
	switch {
	case utf8.RuneCountInString(c.Replacement) != 1:
		return nil, fmt.Errorf("the replacement %.40q must be one character", c.Replacement)
	case scheme == "" && c.AddPrefixSpace != nil && !*c.AddPrefixSpace:
		scheme = "never"
	case scheme == "":
		scheme = "always"
	case scheme != "always" && scheme != "first" && scheme != "never":
		return nil, fmt.Errorf("prepend_scheme %.40q is not one of always, first, never", scheme)
	}
	return metaspace(c.Replacement, scheme, c.Split == nil || *c.Split), nil
}

// readAround reads the ids that are put around every text.
func (p *parser) readAround(c *component) error {
	if c == nil {
		return nil
	}
	if err := p.part(); err != nil {
		return err
	}
	switch c.Type {
	case "Sequence":
		for _, one := range c.Processors {
			if err := p.readAround(one); err != nil {
				return err
			}
		}
	case "ByteLevel": // changes offsets alone
	case "RobertaProcessing", "BertProcessing":
		for raw, to := range map[*json.RawMessage]*[]int32{&c.Cls: &p.t.before, &c.Sep: &p.t.after} {
			var token string
			var id int64
			list := []any{&token, &id}
			if err := strictjson.Unmarshal(*raw, &list); err != nil || len(list) != 2 {
				return fmt.Errorf("%s: sep and cls must be a token and its id", c.Type)
			}
			n, err := checkID(id)
			if err != nil {
				return err
			}
			*to = append(*to, n)
		}
	case "TemplateProcessing":
		return p.template(c)
	default:
		return notSupported(c.Type, "Sequence, ByteLevel, RobertaProcessing, BertProcessing, TemplateProcessing")
	}
	if len(p.t.before)+len(p.t.after) > maxAround {
		return fmt.Errorf("more than %d ids around a text", maxAround)
	}
	return nil
}

func (p *parser) template(c *component) error {
	texts, to := 0, &p.t.before
	for _, piece := range c.Single {
		switch {
		case piece.Sequence != nil:
			texts++
			to = &p.t.after
		case piece.SpecialToken != nil:
			named, ok := c.SpecialTokens[piece.SpecialToken.ID]
			if !ok {
				return fmt.Errorf("%.60q is not in special_tokens", piece.SpecialToken.ID)
			}
			for _, id := range named.IDs {
				n, err := checkID(id)
				if err != nil {
					return err
				}
				*to = append(*to, n)
			}
		}
		if len(p.t.before)+len(p.t.after) > maxAround {
			return fmt.Errorf("more than %d ids around a text", maxAround)
		}
	}
	if texts != 1 {
		return fmt.Errorf("single has %d texts: must be 1", texts)
	}
	return nil
}
