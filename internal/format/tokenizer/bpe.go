package tokenizer

import (
	"container/heap"
	"unicode/utf8"
)

// bpe joins pairs of neighbours in the order of a list.
type bpe struct {
	vocab          map[string]int32
	merges         map[[2]int32]merge
	prefix, suffix string
	unknown        int32 // -1: unknown characters are dropped
	fuse, whole    bool
	bytes          []int32 // ids of the bytes, for unknown characters; nil: not used
}

type merge struct{ rank, id int32 }

// symbol is a token of a word, in a list. Joined ones are gone.
type symbol struct {
	id         int32
	prev, next int
	joined     bool
}

// encode appends the ids of a word.
func (m *bpe) encode(_ *workLimit, word string, ids []int32) []int32 {
	if id, ok := m.vocab[word]; ok && m.whole {
		return append(ids, id)
	}
	list := m.symbols(word)
	var queue mergeQueue
	push := func(at int) {
		if next := list[at].next; next >= 0 {
			if j, ok := m.merges[[2]int32{list[at].id, list[next].id}]; ok {
				heap.Push(&queue, candidate{j, at})
			}
		}
	}
	for i := range list {
		push(i)
	}
	for len(queue) > 0 {
		top := heap.Pop(&queue).(candidate)
		s := &list[top.at]
		if s.joined || s.next < 0 {
			continue
		}
		right := &list[s.next]
		if j, ok := m.merges[[2]int32{s.id, right.id}]; !ok || j.id != top.id {
			continue
		}
		s.id, s.next, right.joined = top.id, right.next, true
		if right.next >= 0 {
			list[right.next].prev = top.at
		}
		if s.prev >= 0 {
			push(s.prev)
		}
		push(top.at)
	}
	for i := 0; i >= 0 && i < len(list); i = list[i].next {
		ids = append(ids, list[i].id)
	}
	return ids
}

// symbols returns the characters of a word as tokens.
func (m *bpe) symbols(word string) []symbol {
	var list []symbol
	unknown := 0 // unknown characters that are not in the list yet
	add := func(id int32) {
		list = append(list, symbol{id: id, prev: len(list) - 1, next: len(list) + 1})
	}
	flush := func() {
		for range unknown {
			add(m.unknown)
		}
		unknown = 0
	}
	for i := 0; i < len(word); {
		_, n := utf8.DecodeRuneInString(word[i:])
		s := word[i : i+n]
		if i > 0 {
			s = m.prefix + s
		}
		if i += n; i == len(word) {
			s += m.suffix
		}
		id, ok := m.vocab[s]
		switch {
		case ok:
			flush()
			add(id)
		case m.bytes != nil && m.hasBytes(s):
			for k := range len(s) {
				add(m.bytes[s[k]])
			}
		case m.unknown >= 0 && (unknown == 0 || !m.fuse):
			flush()
			unknown = 1
		}
	}
	flush()
	if len(list) > 0 {
		list[len(list)-1].next = -1
	}
	return list
}

// hasBytes reports whether all bytes of a text have tokens.
func (m *bpe) hasBytes(s string) bool { return allBytes(m.bytes, s) }

func allBytes(ids []int32, s string) bool {
	for i := range len(s) {
		if ids[s[i]] < 0 {
			return false
		}
	}
	return true
}

// candidate is a pair to join, by the place of its left one.
type candidate struct {
	merge
	at int
}

// mergeQueue has the pair that is first in the list of merges, and the leftmost of equals, on top.
type mergeQueue []candidate

func (q mergeQueue) Len() int      { return len(q) }
func (q mergeQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q mergeQueue) Less(i, j int) bool {
	return q[i].rank < q[j].rank || q[i].rank == q[j].rank && q[i].at < q[j].at
}
func (q *mergeQueue) Push(x any) { *q = append(*q, x.(candidate)) }
func (q *mergeQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
