package index

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/mappedfile"
)

func openFile(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func mappedFile(t testing.TB, path string) *mappedfile.File {
	t.Helper()
	f, err := mappedfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// newReplaceable is an index of 150 items in two segments, one with removed rows, and in the log.
// replace replaces all these files; the ids stay the same.
func newReplaceable(t *testing.T) (x *Index, replace func()) {
	t.Helper()
	x = createSmall(t, Config{Dim: 3})
	add(t, x, entries(150, 3, 0), AddOptions{})
	n := uint64(0)
	replace = func() {
		t.Helper()
		n++
		e := entries(150, 3, n)
		if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
			t.Fatal(err)
		}
		// At most half of the first segment goes: nothing is merged unasked.
		add(t, x, e[:70], AddOptions{Existing: Replace})
		add(t, x, e[60:75], AddOptions{Existing: Replace})
	}
	replace()
	m, err := readManifest(x.dir)
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Segments; len(s) != 2 || s[0].RemovedFile == "" || x.Info().Logged == 0 {
		t.Fatalf("%+v: want two segments, removed rows and a log", m)
	}
	return x, replace
}

// A writer that replaces all files after a reader has read the manifest does no harm to the
// reader: it takes the files of the next generation.
func TestManifestThatIsBehind(t *testing.T) {
	x, replace := newReplaceable(t)
	left := 0
	behind := func(dir string) (*manifest, error) {
		m, err := readManifest(dir)
		if left > 0 {
			left--
			replace()
		}
		return m, err
	}
	for _, times := range []int{1, 2, 5} {
		left = times
		got, err := check(t.Context(), x.dir, CheckOptions{}, behind)
		if err != nil || len(got.Problems) > 0 || got.Items != 150 || left > 0 {
			t.Errorf("checked after %d replacements: %+v, %v", times-left, got, err)
		}
		left = times
		err = readConsistently(x.dir, behind, func(o *openFiles) error {
			r := &Index{dir: x.dir, readOnly: true}
			s, log, err := r.read(o)
			if err != nil {
				return err
			}
			v := newView(o.m, s.schema, s.parts, s.tail)
			defer v.release()
			if v.numItems() != 150 || log.shortfall != nil {
				t.Errorf("opened after %d replacements: %d items, %v", times-left, v.numItems(), log.shortfall)
			}
			return nil
		})
		if err != nil || left > 0 {
			t.Errorf("opened after %d replacements: %v", times-left, err)
		}
	}
}

// A writer that is always faster makes a check give up with an error, and not report damage.
func TestManifestThatIsAlwaysBehind(t *testing.T) {
	x := createSmall(t, Config{Dim: 3})
	add(t, x, entries(1, 3, 1), AddOptions{})
	behind := func(dir string) (*manifest, error) {
		m, err := readManifest(dir)
		if _, e := x.w.submit(&request{ctx: t.Context(), seal: true}); e != nil {
			t.Error(e)
		}
		return m, err
	}
	got, err := check(t.Context(), x.dir, CheckOptions{}, behind)
	if err == nil || !strings.Contains(err.Error(), "was changed 100 times while it was read") {
		t.Errorf("%+v, %v", got, err)
	}
}

// A check reads the files of one generation to their end, also if they are removed meanwhile.
func TestCheckOfRemovedFiles(t *testing.T) {
	x, replace := newReplaceable(t)
	once := false
	got, err := Check(t.Context(), x.dir, CheckOptions{Progress: func(done, total int64) {
		if !once && done < total {
			once = true
			replace()
		}
	}})
	if err != nil || len(got.Problems) > 0 || got.Items != 150 || got.Unfinished > 0 || !once {
		t.Errorf("%+v, %v", got, err)
	}
}

// A problem with a file that the newest manifest no longer names is not reported: the check
// begins anew. One with a file that it still names is reported.
func TestProblemThatWasReplaced(t *testing.T) {
	for _, replaces := range []bool{true, false} {
		x, replace := newReplaceable(t)
		m, err := readManifest(x.dir)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(x.dir, m.Log)
		b := readFile(t, path)
		b[lastFrame(b)+frameHeader]++
		writeFile(t, path, b)
		once := false
		got, err := Check(t.Context(), x.dir, CheckOptions{Progress: func(int64, int64) {
			if !once && replaces {
				once = true
				replace()
			}
		}})
		if err != nil || replaces != (len(got.Problems) == 0) || replaces && got.Items != 150 {
			t.Errorf("replaced %v: %+v, %v", replaces, got, err)
		}
	}
}

// A frame that was not acknowledged when the marks were read may be in the making, or be
// withdrawn and written anew. Such a log is read again. Without a writer it is damaged.
func TestLogThatIsWritten(t *testing.T) {
	_, path, whole := logOfThree(t)
	m, err := readManifest(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	// As it was when only the first frame had been acknowledged.
	found := &logContent{}
	if reason := found.readHeader(bytes.NewReader(whole), m.Index); reason != "" {
		t.Fatal(reason)
	}
	second := bytes.Index(whole[logHeader+1:], []byte(frameMagic)) + logHeader + 1
	early := bytes.Clone(whole)
	copy(early[markOffset:], mark{frames: 1, end: int64(second), operations: 1}.encode())
	clear(early[markOffset+markSize : logHeader])
	last := lastFrame(whole)
	torn := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at+frameHeader]++
		return b
	}
	none := torn(torn(early, markOffset-frameHeader), markOffset-frameHeader)
	for _, c := range []struct {
		name        string
		first, then []byte
		damaged     bool
	}{
		{"a frame before a whole one", torn(early, second), torn(early, second), true},
		{"a frame before a whole one, and then all were acknowledged", torn(early, second), whole, false},
		{"a frame before a whole one, and then the log is longer", torn(early, second),
			append(bytes.Clone(early), 0), false},
		{"a last frame that becomes whole", torn(early, last), early, false},
		{"an acknowledged frame, and then more", torn(whole, second), append(bytes.Clone(whole), 0), true},
		{"no mark", none, none, true},
	} {
		writeFile(t, path, c.first)
		f := openFile(t, path)
		_, err := readLog(f, m.Index, m.Dim, func([]operation) error {
			if !bytes.Equal(c.first, c.then) {
				writeAt(t, path, c.then)
			}
			return nil
		})
		var damage *DamageError
		if c.damaged != errors.As(err, &damage) || c.damaged == errors.Is(err, errReplaced) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// writeAt writes a file in place.
func writeAt(t *testing.T, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(b, 0)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// Checks and readers beside a writer find all items, whatever it does.
func TestChecksBesideAWriter(t *testing.T) {
	x := createSmall(t, Config{Dim: 3})
	add(t, x, entries(150, 3, 1), AddOptions{})
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	loop := func(f func() error) {
		readers.Go(func() {
			for more := true; more; {
				select {
				case <-done:
					more = false // once more, with nobody beside it
				default:
				}
				if err := f(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 3 {
		loop(func() error {
			got, err := Check(t.Context(), x.dir, CheckOptions{})
			if err == nil && (len(got.Problems) > 0 || got.Items != 150) {
				err = fmt.Errorf("checked: %+v", got)
			}
			return err
		})
	}
	loop(func() error {
		r, err := Open(x.dir, Options{ReadOnly: true})
		if err != nil {
			return err
		}
		if in := r.Info(); in.Items != 150 || in.Shortfall != nil {
			err = fmt.Errorf("opened: %+v", in)
		}
		return errors.Join(err, r.Close())
	})
	for n := range rounds {
		e := entries(150, 3, uint64(n))
		k := 1 + n*37%149
		for _, put := range [][]int{{0, k}, {k / 2, k}, {k, 150}} {
			add(t, x, e[put[0]:put[1]], AddOptions{Existing: Replace})
		}
		ids := []string{e[0].ID, e[k].ID}
		if _, _, err := x.Change(t.Context(), Change{Remove: ids, Put: e[:k+1]}); err != nil {
			t.Fatal(err)
		}
		if n%3 == 0 {
			if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(done)
	readers.Wait()
}
