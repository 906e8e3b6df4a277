package jpeg

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestAdobeTransform: as libjpeg has it, three colours are RGB where Adobe's segment says 0 and
// YCbCr whatever else it says; JFIF outweighs it.
func TestAdobeTransform(t *testing.T) {
	jfif, err := os.ReadFile(filepath.Join("testdata", "pillow_420p.jpg"))
	if err != nil || string(jfif[6:10]) != "JFIF" {
		t.Fatalf("% x, %v", jfif[:10], err)
	}
	want, err := decode(new(Decoder), jfif)
	if err != nil {
		t.Fatal(err)
	}
	after := 4 + int(jfif[5]) // the segment JFIF
	for transform, rgb := range map[byte]bool{0: true, 1: false, 2: false, 255: false} {
		adobe := append([]byte("\xff\xd8\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00"), transform)
		alone, both := append(bytes.Clone(adobe), jfif[after:]...), append(bytes.Clone(adobe), jfif[2:]...)
		if k, ok := ReadHeader(alone); !ok || k.IsDecodable() == rgb {
			t.Errorf("transform %d: %+v", transform, k)
		}
		if k, ok := ReadHeader(both); !ok || !k.IsDecodable() {
			t.Errorf("transform %d with JFIF: %+v", transform, k)
		}
		got, err := decode(new(Decoder), alone)
		if rgb != (err != nil) || !rgb && !bytes.Equal(got.pix, want.pix) {
			t.Errorf("transform %d: %v; want RGB %v", transform, err, rgb)
		}
	}
}
