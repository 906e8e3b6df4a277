package eval

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/plaintext"
)

// NamedPair is a line of a list of pairs: the names of two items.
type NamedPair struct {
	A, B string
	Same bool
	Fold int
	Line int // of the file, from 1
}

// ReadPairs reads a list of pairs. file is its name in errors, which also have the line. There are two
// formats, which are recognised by the first line.
//
// The format of LFW's pairs.txt begins with a line with the number of folds and the number n of pairs
// of each kind in a fold. If there is only one fold, as in pairsDevTest.txt, the line has only n. Then
// follow for each fold n lines "NAME I J" of two photos of a person, and n lines "NAME I OTHER J" of two
// persons. Photo 7 of NAME is called NAME_0007.
//
// A line of the CSV format has two names, then "same" or "different" (or 1 and 0, true and false), and
// optionally the number of the fold, from 0. Separators may be semicolons or tabs. The first line is a
// header if its third or fourth field names a column (label, is_same, match, fold and so on), or if
// "same" follows two names of columns: first and second, id and other, path and other, id1 and id2, id_a
// and id_b, path1 and path2. A list without folds is divided in its order into ten folds, each with its
// share of both kinds. If there are fewer than ten pairs of a kind, there are as many folds as that, but
// at least two.
func ReadPairs(r io.Reader, file string) ([]NamedPair, error) {
	in, err := plaintext.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	head, err := in.Peek(64)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	first, _, _ := strings.Cut(string(head), "\n")
	numbers := strings.Fields(first)
	lfw := len(numbers) == 1 || len(numbers) == 2
	for _, n := range numbers {
		_, err := strconv.ParseUint(n, 10, 64)
		lfw = lfw && err == nil
	}
	if lfw {
		return readLFW(in, file)
	}
	return readCSV(in, file)
}

// maxPairs bounds the number of pairs of a list. maxFolds bounds the number of folds, because each
// fold goes through all pairs.
const (
	maxPairs = 1 << 30
	maxFolds = 1000
)

// pairMemory is the memory that is left for a list of pairs.
type pairMemory struct{ left, limit int64 }

// pairBytes is the memory of a pair besides its names: while it is read, found among the items, and
// measured.
const pairBytes = 192

func newPairMemory() *pairMemory {
	limit := budget.Limit()
	return &pairMemory{left: limit, limit: limit}
}

// appendPair adds a pair to a list if there is memory for it.
func (r *pairMemory) appendPair(to []NamedPair, p NamedPair) ([]NamedPair, error) {
	if r.left -= pairBytes + int64(len(p.A)+len(p.B)); r.left < 0 {
		return nil, &budget.Error{What: "the list of pairs", Limit: r.limit}
	}
	return append(to, p), nil
}

func readLFW(r io.Reader, file string) ([]NamedPair, error) {
	lines := bufio.NewScanner(r)
	lines.Scan()
	counts := strings.Fields(lines.Text())
	folds, each := uint64(1), uint64(0)
	if len(counts) == 2 {
		folds, _ = strconv.ParseUint(counts[0], 10, 64)
	}
	each, _ = strconv.ParseUint(counts[len(counts)-1], 10, 64)
	if folds < 1 || each < 1 || folds > maxFolds || each > maxPairs || folds*each > maxPairs {
		return nil,
			fmt.Errorf("%s:1: %s folds of pairs: the first line must have the number of folds, up to %d, and of the "+
				"pairs of each "+
				"kind in one, from 1", file, strings.Join(counts, " x "), maxFolds)
	}
	var out []NamedPair
	var err error
	room := newPairMemory()
	for line := 2; lines.Scan(); line++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		n := uint64(len(out))
		if n == 2*folds*each {
			return nil, fmt.Errorf("%s:%d: there are more than the %d pairs that the first line announces", file, line,
				n)
		}
		p := NamedPair{Same: n/each%2 == 0, Fold: int(n / (2 * each)), Line: line}
		want, wanted, other := "NAME I OTHER J, two photos of two persons", 4, 2
		if p.Same {
			want, wanted, other = "NAME I J, two photos of one person", 3, 0
		}
		if len(fields) != wanted {
			return nil, fmt.Errorf("%s:%d: %q: must be %s: pair %d of fold %d, which has %d of each kind", file, line,
				lines.Text(), want, n%(2*each)+1, p.Fold+1, each)
		}
		i, errI := strconv.ParseUint(fields[1], 10, 31)
		j, errJ := strconv.ParseUint(fields[wanted-1], 10, 31)
		if errI != nil || errJ != nil {
			return nil, fmt.Errorf("%s:%d: %q: must be %s, and photos must be numbers", file, line, lines.Text(), want)
		}
		p.A = fmt.Sprintf("%s_%04d", fields[0], i)
		p.B = fmt.Sprintf("%s_%04d", fields[other], j)
		if out, err = room.appendPair(out, p); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: after pair %d: %w", file, len(out), err)
	}
	if n := uint64(len(out)); n != 2*folds*each {
		return nil, fmt.Errorf("%s: there are %d pairs, but the first line announces %d folds of %d pairs of each kind",
			file, n,
			folds, each)
	}
	return out, nil
}

func readCSV(r *bufio.Reader, file string) ([]NamedPair, error) {
	begin, _ := r.Peek(1 << 10) // as much as there is
	in := plaintext.NewRows(r)
	in.Comma = plaintext.Separator(begin)
	in.FieldsPerRecord = -1
	in.ReuseRecord = true
	var out []NamedPair
	room := newPairMemory()
	folds := false
	for {
		record, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			var bad *csv.ParseError
			if errors.As(err, &bad) {
				return nil, fmt.Errorf("%s:%d: %w", file, bad.Line, bad.Err)
			}
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		line, _ := in.FieldPos(0)
		if line == 1 && len(record) >= 3 && isHeader(record) {
			continue
		}
		p, fold, err := parsePair(record)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		if len(out) > 0 && fold != folds {
			return nil, fmt.Errorf("%s:%d: some pairs have a fold and some have none", file, line)
		}
		folds = fold
		p.Line = line
		if out, err = room.appendPair(out, p); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: there are no pairs: lines must look like NAME,OTHER,same", file)
	}
	if !folds {
		assignFolds(out)
	}
	return out, nil
}

// isHeader reports whether a record is a header instead of a pair.
func isHeader(record []string) bool {
	field := func(i int) string { return strings.ToLower(strings.TrimSpace(record[i])) }
	if len(record) == 4 && slices.Contains([]string{"fold", "split", "set", "part", "group"}, field(3)) {
		return true
	}
	switch field(2) {
	case "same":
	case "label", "is_same", "issame", "same_person", "match", "matched", "target", "y", "pair", "actual":
		return true
	default:
		return false
	}
	a, b := field(0), field(1)
	for _, names := range [...][2]string{{"first", "second"}, {"id", "other"}, {"path", "other"}, {"id1", "id2"},
		{"id_a", "id_b"},
		{"path1", "path2"}} {
		if a == names[0] && b == names[1] {
			return true
		}
	}
	return false
}

func parsePair(record []string) (p NamedPair, fold bool, err error) {
	if len(record) != 3 && len(record) != 4 {
		return p, false, fmt.Errorf("%d fields: must be two names, same or different, and optionally a fold",
			len(record))
	}
	p.A, p.B = strings.Clone(record[0]), strings.Clone(record[1])
	if p.A == "" || p.B == "" {
		return p, false, errors.New("a name of the pair is empty")
	}
	switch strings.ToLower(strings.TrimSpace(record[2])) {
	case "same", "1", "true":
		p.Same = true
	case "different", "0", "false":
	default:
		return p, false, fmt.Errorf("%q: must be same or different", record[2])
	}
	if len(record) == 4 {
		n, err := strconv.ParseUint(strings.TrimSpace(record[3]), 10, 16)
		if err != nil || n >= maxFolds {
			return p, false, fmt.Errorf("fold %q: must be a number from 0 to %d", record[3], maxFolds-1)
		}
		p.Fold = int(n)
	}
	return p, len(record) == 4, nil
}

// lfwFolds is the number of folds of LFW.
const lfwFolds = 10

// assignFolds divides pairs into folds.
func assignFolds(pairs []NamedPair) {
	var all, seen [2]int
	kind := func(p NamedPair) int {
		if p.Same {
			return 1
		}
		return 0
	}
	for _, p := range pairs {
		all[kind(p)]++
	}
	folds := max(2, min(lfwFolds, all[0], all[1]))
	for i := range pairs {
		k := kind(pairs[i])
		pairs[i].Fold = seen[k] * folds / all[k]
		seen[k]++
	}
}
