package jpeg

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestUnread: kinds that nothing here reads have a name, and those that image/jpeg reads have none.
func TestUnread(t *testing.T) {
	for name, want := range map[string]string{
		"any_arith.jpg": "JPEG with arithmetic coding", "any_arith_p.jpg": "JPEG with arithmetic coding",
		"any_uneven.jpg": "JPEG with colours of these sizes", "any_uneven_p.jpg": "JPEG with colours of these sizes",
		"any_luma_small.jpg": "JPEG with colours of these sizes", "any_ycck.jpg": "JPEG with arithmetic coding",
		"any_cmyk.jpg": "CMYK in JPEG that does not say how (without Adobe's segment)", "any_rgb.jpg": "",
		"kind_411.jpg": "", "kind_410.jpg": "", "kind_440_restart.jpg": "",
	} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if k, ok := ReadHeader(b); !ok || k.UnsupportedReason() != want {
			t.Errorf("%s: %q, want %q", name, k.UnsupportedReason(), want)
		}
	}
	b, err := os.ReadFile(filepath.Join("testdata", "kind_422.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte{0xff, 0xc0})
	for _, c := range []struct {
		offset int
		value  byte
		want   string
	}{
		{1, 0xc3, "lossless JPEG"}, {1, 0xc7, "hierarchical JPEG"}, {4, 12, "JPEG with samples of more than 8 bits"},
		{11, 0x00, "JPEG with colours of these sizes"}, {14, 0x00, "JPEG with colours of these sizes"}, {1, 0xc1, ""},
		{11, 0x51, "JPEG with colours of these sizes"}, {14, 0x21, "JPEG with colours of these sizes"},
	} {
		b := bytes.Clone(b)
		b[at+c.offset] = c.value
		if k, ok := ReadHeader(b); !ok || k.UnsupportedReason() != c.want {
			t.Errorf("%d at %d: %q, want %q", c.value, c.offset, k.UnsupportedReason(), c.want)
		}
	}
	b[at+5], b[at+6] = 0, 0
	if k, _ := ReadHeader(b); k.UnsupportedReason() != "JPEG with its height after the picture (DNL)" {
		t.Errorf("without a height: %q", k.UnsupportedReason())
	}
}
