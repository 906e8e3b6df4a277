package tokenizer

import (
	"math"
	"slices"
	"unicode/utf8"
)

// unigram finds the tokens of a text with the largest sum of scores.
type unigram struct {
	vocab   map[string]int32
	scores  []float64
	longest int   // bytes of the longest token
	unknown int32 // id of characters that are no tokens
	bytes   []int32
	least   float64 // score of an unknown character
}

// unknownPenalty is how much less than the least token an unknown character scores.
const unknownPenalty = 10

// node is the best way to a place in the text: from where, by which token.
type node struct {
	from  int
	id    int32
	score float64
}

func (m *unigram) encode(e *workLimit, text string, ids []int32) []int32 {
	best := make([]node, len(text)+1)
	for i := range best {
		best[i] = node{from: -1}
	}
	offer := func(from, to int, id int32, score float64) {
		if score += best[from].score; best[to].from < 0 || score > best[to].score {
			best[to] = node{from, id, score}
		}
	}
	for i := 0; i < len(text); {
		_, size := utf8.DecodeRuneInString(text[i:])
		one := false
		longest := min(m.longest, len(text)-i)
		if !e.lookUp(longest) {
			return ids
		}
		for n := 1; n <= longest; n++ {
			if i+n < len(text) && !utf8.RuneStart(text[i+n]) {
				continue
			}
			if id, ok := m.vocab[text[i:i+n]]; ok {
				offer(i, i+n, id, m.scores[id])
				one = one || n == size
			}
		}
		if !one {
			offer(i, i+size, m.unknown, m.least)
		}
		i += size
	}
	begin := len(ids)
	for to := len(text); to > 0; {
		from := best[to].from
		if best[to].id == m.unknown {
			for from > 0 && best[from].id == m.unknown {
				from = best[from].from
			}
		}
		ids = m.token(ids, text[from:to])
		to = from
	}
	slices.Reverse(ids[begin:])
	return ids
}

// token appends the ids of a token or of unknown characters, the last first.
func (m *unigram) token(ids []int32, s string) []int32 {
	id, ok := m.vocab[s]
	switch {
	case ok:
		return append(ids, id)
	case m.bytes != nil && allBytes(m.bytes, s):
		for i := len(s) - 1; i >= 0; i-- {
			ids = append(ids, m.bytes[s[i]])
		}
		return ids
	}
	return append(ids, m.unknown)
}

// setLeast sets the score of unknown characters.
func (m *unigram) setLeast() {
	m.least = math.Inf(1)
	for _, s := range m.scores {
		m.least = min(m.least, s)
	}
	m.least -= unknownPenalty
}
