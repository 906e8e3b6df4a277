package index

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// logOfThree is an index whose log holds three items, a frame each, and what is in the
// file.
func logOfThree(t *testing.T) (dir, path string, log []byte) {
	t.Helper()
	x := create(t, Config{Dim: 3})
	for _, e := range entries(3, 3, 1) {
		add(t, x, []store.Item{e}, AddOptions{})
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := readManifest(x.Dir())
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(x.Dir(), m.Log)
	return x.Dir(), path, readFile(t, path)
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// lastFrame is where the last frame of a log begins.
func lastFrame(log []byte) int { return bytes.LastIndex(log, []byte(frameMagic)) }

// What was written and not acknowledged is no problem, but it is told.
func TestUnfinishedIsAccepted(t *testing.T) {
	dir, path, whole := logOfThree(t)
	// A part of a frame arrived, as if the process had been killed before the change was acknowledged.
	torn := append(bytes.Clone(whole), whole[lastFrame(whole):len(whole)-5]...)
	writeFile(t, path, torn)
	c, err := Check(t.Context(), dir, CheckOptions{})
	if err != nil || len(c.Problems) > 0 || c.Items != 3 || c.Unfinished != int64(len(torn)-len(whole)) {
		t.Fatalf("%v, %+v", err, c)
	}
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if in := x.Info(); in.Items != 3 || in.Shortfall != nil {
		t.Errorf("%+v", in)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, path); !bytes.Equal(got, whole) {
		t.Errorf("%d bytes are left of %d", len(got), len(whole))
	}
}

// A log that ends before what was acknowledged is told of wherever the index is opened, and
// is not written to before it was repaired.
func TestShortLog(t *testing.T) {
	dir, path, whole := logOfThree(t)
	for _, cut := range []int{len(whole) - 1, lastFrame(whole) + 1, lastFrame(whole), logHeader + 7, logHeader} {
		writeFile(t, path, whole[:cut])
		items := 2
		if cut < lastFrame(whole) {
			items = 0
		}
		x, err := Open(dir, Options{ReadOnly: true})
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		in := x.Info()
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		s := in.Shortfall
		if in.Items != items || s == nil || s.Changes != uint64(3-items) || s.Acknowledged != int64(len(whole)) ||
			s.End > int64(cut) || s.File != filepath.Base(path) {
			t.Errorf("cut at %d: %+v, %+v", cut, in, s)
		}
		var damage *DamageError
		if _, err := Open(dir, Options{}); !errors.As(err, &damage) || !strings.Contains(err.Error(), "index check") {
			t.Errorf("cut at %d, for writing: %v", cut, err)
		}
		c, err := Check(t.Context(), dir, CheckOptions{})
		if err != nil || len(c.Problems) != 1 || c.Items != items || c.Problems[0].File != filepath.Base(path) {
			t.Errorf("cut at %d: %v, %+v", cut, err, c)
		}
	}
	// The repair says what is lost, and makes do with the rest.
	writeFile(t, path, whole[:len(whole)-1])
	if c, err := Check(t.Context(), dir, CheckOptions{Repair: true}); err != nil || len(c.Problems) != 1 {
		t.Errorf("%v, %+v", err, c)
	}
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if in := x.Info(); in.Items != 2 || in.Shortfall != nil {
		t.Errorf("repaired: %+v", in)
	}
}

// A change that was acknowledged and is not whole is damage, also if it is the last.
func TestDamageToTheLastChange(t *testing.T) {
	dir, path, whole := logOfThree(t)
	for at := lastFrame(whole); at < len(whole); at++ {
		b := bytes.Clone(whole)
		b[at] ^= 1
		writeFile(t, path, b)
		var damage *DamageError
		if _, err := Open(dir, Options{ReadOnly: true}); !errors.As(err, &damage) {
			t.Fatalf("byte %d: %v", at, err)
		}
		if c, err := Check(t.Context(), dir, CheckOptions{}); err != nil || len(c.Problems) != 1 || c.Items != 2 {
			t.Fatalf("byte %d: %v, %+v", at, err, c)
		}
	}
}

// A process that is killed has told how far it went, without having closed anything.
func TestKilledLogIsCovered(t *testing.T) {
	x := create(t, Config{Dim: 3})
	for i, e := range entries(5, 3, 1) {
		add(t, x, []store.Item{e}, AddOptions{})
		log := readFile(t, x.w.log.f.Name())
		found := &logContent{}
		if reason := found.readHeader(bytes.NewReader(log), x.w.m.Index); reason != "" {
			t.Fatal(reason)
		}
		if a := found.acknowledged; a.frames != uint64(i+1) || a.operations != a.frames || a.end != int64(len(log)) {
			t.Errorf("after %d items %+v, and %d bytes", i+1, a, len(log))
		}
	}
}

// After a loss of power the mark may be a frame behind, or torn. The next start tells what
// it found, so that later cuts are seen.
func TestMarkThatIsBehind(t *testing.T) {
	dir, path, whole := logOfThree(t)
	found := &logContent{}
	m, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if reason := found.readHeader(bytes.NewReader(whole), m.Index); reason != "" || found.acknowledged.frames != 3 {
		t.Fatal(reason, found)
	}
	for torn := 1; torn <= markSize; torn++ {
		b := bytes.Clone(whole)
		clear(b[markOffset+found.slot*markSize:][:torn])
		writeFile(t, path, b)
		c, err := Check(t.Context(), dir, CheckOptions{})
		if err != nil || len(c.Problems) > 0 || c.Items != 3 || c.Unfinished > 0 {
			t.Fatalf("%d bytes torn: %v, %+v", torn, err, c)
		}
	}
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	now := readFile(t, path)
	writeFile(t, path, now[:len(now)-1])
	if c, err := Check(t.Context(), dir, CheckOptions{}); err != nil || len(c.Problems) != 1 {
		t.Errorf("%v, %+v", err, c)
	}
	// Without any mark nobody knows.
	clear(now[markOffset:logHeader])
	writeFile(t, path, now)
	var damage *DamageError
	if _, err := Open(dir, Options{}); !errors.As(err, &damage) {
		t.Error(err)
	}
}

// A file that is missing is damage, for readers and writers.
func TestMissingFile(t *testing.T) {
	dir, path, _ := logOfThree(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		var damage *DamageError
		if _, err := Open(dir, Options{ReadOnly: readOnly}); !errors.As(err, &damage) {
			t.Errorf("for reading %v: %v", readOnly, err)
		}
	}
}
