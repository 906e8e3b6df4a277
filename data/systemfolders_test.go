package data

import (
	"os"
	"path/filepath"
	"testing"
)

// What systems and programs leave among photos is neither class nor photo, and is counted.
func TestLeavings(t *testing.T) {
	pic := picture(t, 3, 3, 7)
	files := layoutFiles{"cat/1.png": pic, "dog/2.png": pic, "#N-A/3.png": pic, "@home/4.png": pic,
		"cat/@eaDir/1.png/SYNOPHOTO_THUMB_M.jpg": pic, "cat/@eaDir/1.png/SYNOINDEX": pic, "#recycle/old.png": pic,
		"@Recycle/old.png": pic, "$RECYCLE.BIN/S-1-5/old.png": pic, "$Recycle.Bin/old.png": pic,
		"lost+found/7.png": pic, ".Trash-1000/files/8.png": pic, "System Volume Information/9.png": pic,
		"dog/.@__thumb/2.png":                 pic,
		".ipynb_checkpoints/x-checkpoint.png": pic, "FOUND.000/10.png": pic,
		"RECYCLER/S-1/11.png": pic, "__MACOSX/cat/12.png": pic, "My Previews.lrdata/0/13.png": pic,
		"@__thumb/14.png":             pic,
		"Network Trash Folder/15.png": pic, ".git/logo.png": pic}
	const want = "#N-A/3.png #N-A\n@home/4.png @home\ncat/1.png cat\ndog/2.png dog"
	zip := filepath.Join(t.TempDir(), "set.zip")
	write(t, zip, files.zip(t))
	folder := files.folder(t)
	d, err := OpenFS(t.Context(), os.DirFS(folder), "set", OpenOptions{})
	if err != nil || summary(t, d) != want || len(d.LeftOut) != 1 || d.LeftOut[0].Count != 15 {
		t.Errorf("%v %v", d.LeftOut, err)
	}
	for _, at := range []string{folder, zip} {
		d := open(t, at)
		expect(t, d, "folders", want)
		if len(d.LeftOut) != 1 || d.LeftOut[0].Reason != inSystemFolder || d.LeftOut[0].Count != 15 {
			t.Errorf("%s: %v", at, d.LeftOut)
		}
		if f, err := OpenFiles(t.Context(), []string{at}); err != nil || f.Len() != 4 || f.LeftOut[0].Count != 15 {
			t.Errorf("%v %v", f.LeftOut, err)
		}
	}
}
