package data

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kindred-ml/kindred/internal/format/heic"
)

// TestMain leaves out a decoder for HEIC that this machine may have. Tests that need one name it.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kindred-decoders-")
	if err == nil {
		err = os.Setenv(heic.EnvHome, dir)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// write makes a file and its folders.
func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func idxBytes(dims []int, data []byte) []byte {
	out := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, uint32(d))
	}
	return append(out, data...)
}

// writeIdx makes a small set of the MNIST family: train images of 3 x 2 pixels
// (pixel value = 10*image + position) with the given labels, and test ones.
func writeIdx(t testing.TB, dir string, train, test []byte) {
	t.Helper()
	for k, labels := range [][]byte{train, test} {
		prefix := []string{"train", "t10k"}[k]
		var pix []byte
		for i := range labels {
			for p := range 6 {
				pix = append(pix, byte(100*k+10*i+p))
			}
		}
		write(t, filepath.Join(dir, prefix+"-images-idx3-ubyte"), idxBytes([]int{len(labels), 2, 3}, pix))
		write(t, filepath.Join(dir, prefix+"-labels-idx1-ubyte"), idxBytes([]int{len(labels)}, labels))
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// fs is a file system of the files.
func (l layoutFiles) fs() fstest.MapFS {
	m := fstest.MapFS{}
	for name, content := range l {
		m[name] = &fstest.MapFile{Data: content}
	}
	return m
}

// leftOutText is what was left out, on one line.
func leftOutText(list []LeftOut) string {
	var out []string
	for _, l := range list {
		out = append(out, l.String())
	}
	return strings.Join(out, "; ")
}

// Texts that users read.
const (
	noteValidation = "the set has no test part, so its validation part (val) is the test"
	noteSearched   = "the set has only one of query and gallery, so this part is the test and is searched within itself"
	outsideClasses = "at the top, outside any class folder (move them into a folder, if they belong to the set)"
	besideSplits   = "beside the folders of the split (train, val, test, query, gallery)"
	noClass        = "in a folder of the split, outside any class folder"
	deadLink       = "a link that leads nowhere"
	linkedUp       = "a link to the folder of the set, or to one above it"
	linkedTwice    = "a link to a folder that is read under another name"
	inSystemFolder = "in a folder of a system or program, for thumbnails, deleted files or copies"
)
