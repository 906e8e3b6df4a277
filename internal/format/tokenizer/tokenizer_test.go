package tokenizer

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"testing"
)

// referenceText is the tokenizer.json that testdata/make_reference.mjs wrote.
func referenceText(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func read(t testing.TB, name string) *Tokenizer {
	t.Helper()
	tok, err := Parse(referenceText(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func hash16(ids []int32) uint16 {
	h := uint32(2166136261)
	for _, id := range ids {
		for k := 0; k < 32; k += 8 {
			h = (h ^ uint32(id)>>k&255) * 16777619
		}
	}
	return uint16(h ^ h>>16)
}

// TestReference: the ids of 10,000 strings are those of Hugging Face's tokenizers.
func TestReference(t *testing.T) {
	for _, name := range []string{"clip", "siglip", "gemma"} {
		tok := read(t, name)
		want, err := os.ReadFile("testdata/" + name + ".ids")
		if err != nil || len(want) != 2*10_000 {
			t.Fatalf("%s: %d bytes, %v", name, len(want), err)
		}
		wrong := 0
		for i := range 10_000 {
			s := stringNumber(i)
			ids, err := tok.Encode(s, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if hash16(ids) != binary.LittleEndian.Uint16(want[2*i:]) {
				if wrong++; wrong < 6 {
					t.Errorf("%s, string %d, %.300q: %.60v", name, i, s, ids)
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of 10000 strings differ", name, wrong)
		}
	}
}
