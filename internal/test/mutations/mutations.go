// Package mutations changes valid texts (JSON, CSV, YAML, XML) at random and gives them to
// their readers. A reader must accept each text or return an error, without a panic, in time,
// and in memory in proportion to the text.
package mutations

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// Reader reads texts of one format.
type Reader struct {
	Name string
	// Valid are texts that are read without an error. Mutations combine parts of all of them.
	Valid []string
	Read  func(text []byte) error
}

const (
	defaultMutations = 300    // number of mutations for a reader
	longMutations    = 10_000 // with KINDRED_LONG
	// hangTime is the time for a text after which the test ends with the text's name. slow is more
	// than any text takes on a busy machine.
	hangTime, slowTime = 2 * time.Minute, 20 * time.Second
	// memoryLimit is the limit of package budget. A reader may allocate base plus each times the
	// length of the text in all.
	memoryLimit = 256 << 20
	base, each  = 64 << 20, 1024
	maxMessage  = 8000 // longest error in bytes, besides quoted text: a byte that is not a letter may take four
)

// internalWords matches words about the program itself, which an error about a file must not have.
var internalWords = regexp.MustCompile(
	`runtime error|reflect[.:]|nil pointer|index out of range|goroutine|%!|0xc0[0-9a-f]{8}|Go (?:struct field|value)`)

// Try gives each reader its valid texts, and then mutations of them, which are the same every
// time. A failure names the number of the mutation.
func Try(t *testing.T, readers ...Reader) {
	t.Helper()
	budgettest.Limit(t, memoryLimit)
	n := defaultMutations
	if os.Getenv("KINDRED_LONG") != "" {
		n = longMutations
	}
	for i := range readers {
		r := &readers[i]
		t.Run(r.Name, func(t *testing.T) {
			var parts []string
			for k, text := range r.Valid {
				if problem := r.try([]byte(text), fmt.Sprint("valid text ", k)); problem != "" {
					t.Fatal(problem)
				}
				if err := r.Read([]byte(text)); err != nil {
					t.Fatalf("valid text %d is refused: %v", k, err)
				}
				parts = append(parts, token.FindAllString(text, 2000)...)
			}
			for k := range n {
				text := r.Mutation(uint64(k), parts)
				problem := r.try(text, fmt.Sprint("mutation ", k))
				if problem != "" {
					t.Errorf("mutation %d: %s\nof %d bytes: %.600q", k, problem, len(text), text)
				}
				if t.Failed() && k > 20 {
					return
				}
			}
		})
	}
}

// try reads a text and returns what went wrong. which is the text's name, for a reader that hangs.
func (r *Reader) try(text []byte, which string) (problem string) {
	watch := time.AfterFunc(hangTime, func() {
		panic(fmt.Sprintf("%s, %s: no end after %v: %.600q", r.Name, which, hangTime, text))
	})
	defer watch.Stop()
	defer func() {
		if v := recover(); v != nil {
			problem = fmt.Sprintf("a panic: %v\n%s", v, debug.Stack())
		}
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	err := r.Read(bytes.Clone(text))
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	taken := after.TotalAlloc - before.TotalAlloc
	switch {
	case taken > base+each*uint64(len(text)):
		return fmt.Sprintf("%d bytes were allocated", taken)
	case took > slowTime:
		return fmt.Sprintf("it took %v", took)
	case err == nil:
		return ""
	}
	said := err.Error()
	switch {
	case strings.TrimSpace(said) == "":
		return "an error without a message"
	case len(said) > maxMessage+4*len(text):
		return fmt.Sprintf("an error of %d bytes: %.300q", len(said), said)
	case internalWords.MatchString(said):
		return fmt.Sprintf("an error about the program's internals: %.300q", said)
	}
	return ""
}

// token matches a piece of a text that has a meaning: a string, a number, a word, a mark.
var token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[\pL_][\pL\d_./-]*|[^\s\pL\d]`)

// isMark reports whether a piece with this first letter is a mark of the text's structure.
func isMark(c byte) bool { return strings.IndexByte("{}[]:,<>/=;", c) >= 0 }

// values replace other values in texts of most formats.
var values = []string{"null", "true", "-1", "0", "1e300", "-1e300", "1e-300", "1e999", "9223372036854775807",
	"9223372036854775808", "-9223372036854775808", "18446744073709551615", "4294967296", "0.5", `""`, `"\u0000"`,
	`"../../etc/passwd"`, `"/"`, `"x"`, "{}", "[]", "[[]]", "{\"\":{}}", "[null]", "[1,\"x\"]",
	"1.7976931348623157e308"}

// unexpectedPieces are pieces that no format expects.
var unexpectedPieces = []string{"NaN", "Infinity", `"\ud800"`, "\x00", "\xff\xfe", "\ufeff", "\u202e", "\n\n", "\r", "\t",
	",,,,", ":", "\"", "'", "&a *a", "<![CDATA[", "]]>", "&lt;&#0;", "- - -",
	"? :", "!!binary x", "<a b='c'>", "--", "0x10", "1_000", "٣", strings.Repeat("9", 400)}

// nestedPieces are pieces that are repeated to make a text deeply nested.
var nestedPieces = []string{"[", "{\"a\":", "<a>", "- ", "[[", "{a: ", "\"a\":[", "(", "{", "&a [*a,"}

// Mutation returns the n-th mutation of the valid texts; parts are the pieces of all of them.
func (r *Reader) Mutation(n uint64, parts []string) []byte {
	h := fnv.New64a()
	h.Write([]byte(r.Name))
	rng := rand.New(rand.NewPCG(h.Sum64(), n))
	b := []byte(r.Valid[rng.IntN(len(r.Valid))])
	for range 1 + max(0, rng.IntN(4)-1) {
		b = change(rng, b, parts)
	}
	return b
}

// change makes one change to a text.
func change(rng *rand.Rand, b []byte, parts []string) []byte {
	if len(b) == 0 {
		return b
	}
	at := rng.IntN(len(b))
	n := min(1+rng.IntN(1<<rng.IntN(10)), len(b)-at)
	places := token.FindAllIndex(b, 5000)
	splice := func(from, to int, text string) []byte {
		return bytes.Join([][]byte{b[:from], []byte(text), b[to:]}, nil)
	}
	switch kind := rng.IntN(14); {
	case kind == 0:
		b[at] ^= 1 << rng.IntN(8)
	case kind == 1:
		b[at] = byte(rng.Uint32())
	case kind == 2:
		return b[:at]
	case kind == 3:
		return splice(at, at+n, "")
	case kind == 4: // repeat a block
		return splice(at, at, strings.Repeat(string(b[at:at+n]), 1+rng.IntN(1+(1<<14)/n)))
	case kind == 5: // depth
		return splice(at, at, strings.Repeat(nestedPieces[rng.IntN(len(nestedPieces))], 1<<rng.IntN(15)))
	case len(places) == 0:
		return splice(at, at+n, unexpectedPieces[rng.IntN(len(unexpectedPieces))])
	case kind < 8: // a value of another type; the text keeps its format
		p, with := places[rng.IntN(len(places))], values[rng.IntN(len(values))]
		for range 10 {
			if !isMark(b[p[0]]) {
				break
			}
			p = places[rng.IntN(len(places))]
		}
		return splice(p[0], p[1], with)
	case kind == 8: // a piece in place of another, such as a repeated name
		p := places[rng.IntN(len(places))]
		return splice(p[0], p[1], parts[rng.IntN(len(parts))])
	case kind == 9: // one field less, or several
		p, q := places[rng.IntN(len(places))], places[rng.IntN(len(places))]
		return splice(min(p[0], q[0]), min(max(p[1], q[1]), min(p[0], q[0])+200), "")
	case kind == 10: // fields twice
		p := rng.IntN(len(places))
		end := places[min(len(places)-1, p+1+rng.IntN(8))][1]
		return splice(places[p][0], places[p][0], string(b[places[p][0]:end])+",")
	case kind == 11: // a long text
		p := places[rng.IntN(len(places))]
		return splice(p[0]+1, p[0]+1, strings.Repeat("x", 1<<(10+rng.IntN(7))))
	case kind == 12: // a long list
		p := places[rng.IntN(len(places))]
		return splice(p[1], p[1], strings.Repeat(","+string(b[p[0]:p[1]]), rng.IntN(1<<rng.IntN(13))))
	case kind == 13:
		p := places[rng.IntN(len(places))]
		return splice(p[0], p[0], unexpectedPieces[rng.IntN(len(unexpectedPieces))])
	}
	return b
}
