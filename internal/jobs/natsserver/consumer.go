package natsserver

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"path"
	"strings"
	"time"
)

// consumers removes consumers whose description is damaged, and states that cannot be right.
// Without these all messages that are there are given out, which those of a queue may be at
// any time. A worker makes its consumer anew.
func (m *repairer) consumers(dir, name string, s *streamContent) error {
	entries, err := fs.ReadDir(m.root.FS(), path.Join(dir, "obs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := path.Join(dir, "obs", e.Name())
		meta, err := m.meta(at, name+"/"+e.Name())
		if err != nil {
			return err
		}
		if meta == nil {
			if err := m.root.RemoveAll(at); err != nil {
				return err
			}
			continue
		}
		file := path.Join(at, "o.dat")
		b, err := m.read(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		var of struct {
			Filter string `json:"filter_subject"`
		}
		if json.Unmarshal(meta, &of) == nil && s.isPlausible(b, strings.TrimSuffix(of.Filter, "*")) {
			continue
		}
		if err := m.root.Remove(file); err != nil {
			return err
		}
		m.note(file, "it is damaged and was made again: jobs that were given out are given out again")
	}
	return nil
}

// meta reads what describes a stream or consumer, with its sum beside it. What is damaged is
// removed, and nil.
func (m *repairer) meta(dir, name string) ([]byte, error) {
	file, beside := path.Join(dir, "meta.inf"), path.Join(dir, "meta.sum")
	b, err := m.read(file)
	var want []byte
	if err == nil {
		want, err = m.read(beside)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil && string(want) == hex.EncodeToString(recordSum(keyOf(name), b)) {
		return b, nil
	}
	m.note(file, "it is damaged and was made again")
	for _, f := range []string{file, beside} {
		if err := m.root.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, nil
}

// consumerState is what the state of a consumer says: messages up to a number were given out, those
// up to floor are dealt with, and pending are not.
type consumerState struct {
	floor, upTo uint64
	pending     map[uint64]bool
}

// isPlausible tells whether the state of a consumer of the messages with a prefix can be right. A
// message that is dealt with is gone: every one that was given out and is there is pending.
func (s *streamContent) isPlausible(state []byte, prefix string) bool {
	g, ok := parseState(state)
	if !ok || g.floor > g.upTo || g.upTo > s.last {
		return false
	}
	for number, subject := range s.live {
		if number <= g.upTo && strings.HasPrefix(subject, prefix) && !g.pending[number] {
			return false
		}
	}
	return true
}

// parseState reads the state of a consumer: two bytes of magic and version, and numbers of
// varying length. They are the floor and what was given out, each as the consumer's number
// and the message's; how many are pending, the least time of these, and for each the two
// numbers above the floor and the seconds since then; and how many were given out again,
// which says nothing of what is to come.
func parseState(b []byte) (g consumerState, ok bool) {
	if len(b) < 2 || b[0] != 22 || b[1] != 2 {
		return g, false
	}
	b, ok = b[2:], true
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b, ok = nil, false
			return 0
		}
		b = b[n:]
		return v
	}
	seconds := func() int64 { // as binary.Varint reads them
		v := next()
		return int64(v>>1) ^ -int64(v&1)
	}
	mine := next()
	g.floor = next()
	upTo := next()
	g.upTo, g.pending = next(), map[uint64]bool{}
	if mine > upTo || g.floor > math.MaxInt64 {
		return g, false
	}
	if n := next(); n > 0 {
		least := seconds()
		for range n {
			number := g.floor + next()
			of := mine + next()
			at := least - seconds()
			if !ok || number > g.upTo || of > upTo || at > time.Now().Unix()+1 {
				return g, false
			}
			g.pending[number] = true
		}
	}
	return g, ok
}
