package imaging

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pillowReads writes, for every file of a folder, its pixels as Pillow reads them: upright,
// transparency over white (white drawings over black), of 16 bits the upper 8.
const pillowReads = `
import os, sys
import numpy as np
from PIL import Image, ImageOps
d = sys.argv[1]
for n in sorted(os.listdir(d)):
    try:
        im = Image.open(os.path.join(d, n)); im.load()
        if im.mode.startswith("I"): im = Image.fromarray((np.asarray(im) >> 8).astype("u1"))
        im = ImageOps.exif_transpose(im)
        if "A" in im.mode or "transparency" in im.info:
            im = im.convert("RGBA"); bg = Image.new("RGBA", im.size, "black" if n.startswith("art_white") else "white"); bg.alpha_composite(im); im = bg
        im = im.convert("RGB")
        open(os.path.join(d, n + ".ref"), "wb").write(b"%d %d\n" % im.size + im.tobytes())
    except Exception: pass
`

// TestFilesOfOthers runs the generators of pictures that other programs' users have reported:
// each is what Pillow reads, or "not supported".
func TestFilesOfOthers(t *testing.T) {
	cases := filepath.FromSlash("../../../shared/cases")
	if _, err := os.Stat(cases); err != nil {
		t.Skip("no folder of cases: ", err)
	}
	python := ""
	for _, p := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(p, "-c", "import numpy, PIL").Run() == nil {
			python = p
			break
		}
	}
	for _, tool := range []string{"tiffcp", "cjpeg"} {
		if _, err := exec.LookPath(tool); err != nil || python == "" {
			t.Skip("python3 with numpy and Pillow, tiffcp and cjpeg are needed: ", err)
		}
	}
	for _, script := range []string{"bilevel.py", "images.py"} {
		t.Run(script, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join(cases, script))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for _, args := range [][]string{{path, dir}, {"-c", pillowReads, dir}} {
				cmd := exec.Command(python, args...)
				cmd.Dir = t.TempDir() // scripts leave files there
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			compareFolder(t, dir)
		})
	}
}

// notRead are files that are valid and not read, and why.
var notRead = map[string]string{
	"float.tif": "TIFF of floating-point numbers is not supported", "big.tif": "BigTIFF file is not supported",
	"cmyk.tif": "CMYK in TIFF is not supported", "cmyk_lzw.tif": "CMYK in TIFF is not supported",
	"jpeg.tif": "JPEG in TIFF is not supported", "zstd.tif": "Zstandard in TIFF is not supported",
	"planar.tif":        "samples in planes of their own is not supported",
	"min0_g32d.tif":     "CCITT compression of group 3 in two dimensions, or with fill bits,",
	"min1_g32d.tif":     "CCITT compression of group 3 in two dimensions, or with fill bits,",
	"arith.jpg":         "JPEG with arithmetic coding is not supported",
	"cmyk_noadobe.jpg":  "CMYK in JPEG that does not say",
	"min0_none_lsb.tif": "bits in reverse order is not supported",
}

func compareFolder(t *testing.T, dir string) {
	t.Helper()
	refs, err := filepath.Glob(filepath.Join(dir, "*.ref"))
	if err != nil || len(refs) < 15 {
		t.Fatalf("%d files, %v", len(refs), err)
	}
	for _, ref := range refs {
		want, err := os.ReadFile(ref)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(ref, ".ref")
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d, im := Decoder{Smooth: true}, Image{}
		err = d.Decode(context.Background(), &im, file)
		base := filepath.Base(name)
		why := notRead[base]
		if strings.HasPrefix(base, "s_22_") || strings.HasPrefix(base, "s_11_2") {
			why = "JPEG with colours of these sizes is not supported"
		}
		if why != "" {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v, want %s", name, err, why)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var w, h int
		head := bytes.IndexByte(want, '\n')
		if _, err := fmt.Sscanf(string(want[:head]), "%d %d", &w, &h); err != nil || w != im.W || h != im.H {
			t.Errorf("%s: %d x %d, want %d x %d, %v", name, im.W, im.H, w, h, err)
			continue
		}
		if worst := farthest(&im, want[head+1:]); worst > 2 {
			t.Errorf("%s: %d off", name, worst)
		}
	}
}

// farthest is the largest difference of a picture from RGB.
func farthest(im *Image, rgb []byte) int {
	worst := 0
	for i := range rgb {
		v := im.Pix[i/3*im.C+min(i%3, im.C-1)]
		worst = max(worst, int(v)-int(rgb[i]), int(rgb[i])-int(v))
	}
	return worst
}
