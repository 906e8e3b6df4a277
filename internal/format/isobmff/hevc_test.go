package isobmff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/isobmff"
	"github.com/kindred-ml/kindred/internal/test/heif"
)

// unit is a unit of HEVC, after its length in two or four bytes.
func unit(size int, b ...byte) []byte {
	return append(append(make([]byte, size-1), byte(len(b))), b...)
}

// TestCheckCoded: an item has one coded picture, in any number of slices, and parameters and other layers beside it.
func TestCheckCoded(t *testing.T) {
	first, next := []byte{19 << 1, 1, 0x80}, []byte{19 << 1, 1, 0x40}
	layer, parameters := []byte{19 << 1, 1<<3 | 1, 0x80}, []byte{33 << 1, 1, 0x80}
	content := func(units ...[]byte) (b []byte) {
		for _, u := range units {
			b = append(b, unit(4, u...)...)
		}
		return b
	}
	config := func(units ...[]byte) []byte {
		b := append(make([]byte, 21), 3, 1, 33, 0, byte(len(units)))
		for _, u := range units {
			b = append(b, unit(2, u...)...)
		}
		return b
	}
	for name, c := range map[string]struct {
		config, content []byte
		want            string
	}{
		"one":                         {config(parameters), content(parameters, first, next, next), ""},
		"another layer":               {config(parameters), content(first, layer), ""},
		"a rest":                      {config(), append(content(first), 0, 0, 0, 9), ""},
		"two":                         {config(parameters), content(first, next, first), "several coded pictures"},
		"one among the parameters":    {config(parameters, first), content(first), "several coded pictures"},
		"parameters that are cut off": {config(parameters)[:26], content(first), "hvcC is damaged"},
		"no arrays":                   {make([]byte, 22), content(first), "hvcC is damaged"},
		"fewer arrays":                {slices.Concat(make([]byte, 22), []byte{2}), content(first), "hvcC is damaged"},
	} {
		file := &heif.File{Brand: "heic", Primary: 1, Items: []heif.Item{{ID: 1, Type: "hvc1", Content: c.content,
			Properties: [][]byte{heif.Size(64, 64), heif.Box("hvcC", c.config)}}}}
		f, err := isobmff.Parse(file.Bytes())
		if err != nil {
			t.Fatal(name, err)
		}
		err = f.CheckCoded(f.Primary)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, _, written := f.Picture(); (written == nil) != (err == nil) {
			t.Errorf("%s: written: %v", name, written)
		}
	}
}
