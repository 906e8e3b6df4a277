package parquet

import (
	"bytes"
	"errors"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// Pages of LZ4 keep to the limit with the room that their decoder takes, and damaged
// ones, for which it would take room without end, are errors.
func TestLZ4PagesWithinTheLimit(t *testing.T) {
	budgettest.Limit(t, 4<<20)
	for n, want := range map[int]bool{0: true, 1: true, 100: true, 1 << 20: true, 64 << 20: false} {
		b := zerosOf(t, format.Lz4Raw, n)
		if got, err := lz4Length(b); err != nil || got != int64(n) {
			t.Errorf("%d, want %d; %v", got, n, err)
		}
		check := func() error { return checkUnpacked(format.Lz4Raw, bytes.NewReader(b), int64(len(b))) }
		if !want {
			budgettest.CheckRefused(t, "a bomb", 8<<20, check)
		} else if err := check(); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	text := bytes.Repeat([]byte("what is repeated is short, "), 30)
	good, err := pq.LookupCompressionCodec(format.Lz4Raw).Encode(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := lz4Length(good); err != nil || n != int64(len(text)) {
		t.Errorf("%d bytes, %v", n, err)
	}
	for name, b := range map[string][]byte{
		"cut in literals":           good[:5],
		"cut in a length":           {0xf0, 255},
		"cut in a match":            {0x10, 'a', 1},
		"ends with a match":         {0x10, 'a', 1, 0},
		"back to nowhere":           {0x10, 'a', 0, 0, 0},
		"back before the beginning": {0x10, 'a', 2, 0, 0},
	} {
		if err := checkUnpacked(format.Lz4Raw, bytes.NewReader(b), int64(len(b))); !errors.Is(err, errLZ4) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzLZ4 finds the length of any block, which is that of what the decoder makes of it.
func FuzzLZ4(f *testing.F) {
	codec := pq.LookupCompressionCodec(format.Lz4Raw)
	for _, text := range []string{"", "a", "abcabcabcabcabcabcabcabc",
		"what is repeated is repeated is repeated, often"} {
		b, err := codec.Encode(nil, []byte(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0x1f, 'a', 1, 0, 255, 3, 0x10, 'b'})
	f.Add([]byte{1})
	f.Add([]byte("Aws r"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := lz4Length(b)
		if err != nil || n > 1<<20 {
			return
		}
		if out, err := codec.Decode(nil, b); err != nil || int64(len(out)) != n {
			t.Fatalf("%d bytes, %v; want %d", len(out), err, n)
		}
	})
}
