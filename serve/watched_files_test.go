package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// What is read again is told once: what the file holds now, or why it cannot be read, and
// not again before that is another reason. Without a log nothing is.
func TestWatchedTells(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	change := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	for _, strict := range []bool{false, true} {
		for _, log := range []*slog.Logger{nil, slog.New(slog.NewTextHandler(&said, nil))} {
			change("ok")
			w := &watchedFiles[string]{paths: []string{path}, strict: strict, log: log, maxBytes: 99,
				load: func(files []fileContent) (string, error) {
					text := string(files[0].text)
					if bad, ok := strings.CutPrefix(text, "bad "); ok {
						return "part of " + bad, errors.New(bad)
					}
					return text, files[0].err
				}}
			if err := w.open(); err != nil {
				t.Fatal(err)
			}
			held := map[bool]string{false: "its earlier contents stay in use",
				true: "its valid part is used"}[strict]
			for _, c := range []struct{ text, value, told string }{
				{"ok", "ok", ""}, {"fine.", "fine.", "read again"}, {"fine.", "fine.", ""},
				{"bad bread", "fine.", held}, {"bad bread", "fine.", ""}, {"bad bread", "fine.", ""},
				{"bad butter", "fine.", "error=butter"}, {"ok", "ok", "read again"}, {"ok", "ok", ""},
			} {
				if now, err := os.ReadFile(path); err != nil || string(now) != c.text {
					change(c.text)
				}
				said.Reset()
				w.lastLook = time.Time{}
				want := c.value
				if bad, ok := strings.CutPrefix(c.text, "bad "); ok && strict {
					want = "part of " + bad
				}
				if got := w.get(); got != want {
					t.Errorf("strict %v, %q: %q, want %q", strict, c.text, got, want)
				}
				told := c.told
				if log == nil {
					told = ""
				}
				if text := said.String(); !strings.Contains(text, told) || told == "" && text != "" {
					t.Errorf("strict %v, %q: said %q, want %q", strict, c.text, text, told)
				}
			}
		}
	}
}

// A look holds for a second.
func TestWatchedLooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &watchedFiles[string]{paths: []string{path}, maxBytes: 99, load: func(files []fileContent) (string, error) {
		return string(files[0].text), files[0].err
	}}
	if err := w.open(); err != nil || w.value != "a" {
		t.Fatal(w.value, err)
	}
	if err := os.WriteFile(path, []byte("longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.lastLook = time.Now().Add(time.Hour)
	if got := w.get(); got != "a" {
		t.Errorf("looked at again at once: %q", got)
	}
	w.lastLook = time.Now().Add(-watchInterval)
	if got := w.get(); got != "longer" {
		t.Errorf("not looked at after %v: %q", watchInterval, got)
	}
	// One byte more than it may have.
	if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	w.lastLook = time.Time{}
	if got := w.get(); got != "longer" || !strings.Contains(w.failed, "at most 99 B") {
		t.Errorf("%q, %s", got, w.failed)
	}
}

// Servers that were given the same files each tell their own log, whichever of them was made
// first and whichever looks first, and what they were given is as it was.
func TestServersThatShareFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	key, line, err := NewKey("who", Read)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := OpenKeys(put("keys", line))
	if err != nil {
		t.Fatal(err)
	}
	file, err := OpenCalibration(filepath.Join(dir, "calibration"), unknownNetwork, "euclidean", 3)
	if err != nil {
		t.Fatal(err)
	}
	var logs [2]lockedBuffer
	var servers [2]*Server
	begin := func(i int) {
		servers[i] = newServer(t, Options{Keys: keys, Log: slog.New(slog.NewTextHandler(&logs[i], nil)),
			Collections: []Collection{{Name: "things", Store: newFilledStore(t, 5), CalibrationFile: file}}})
	}
	look := func(i int) {
		t.Helper()
		s := servers[i]
		s.opt.Keys.lastLook, s.collections[0].CalibrationFile.lastLook = time.Time{}, time.Time{}
		(&caller{t: t, s: s, key: key}).json("POST", "/v1/identify", api.Identify{IDs: []string{"red/001"}})
	}
	begin(0)
	put("keys", line+"\nnonsense")
	put("calibration", "nonsense")
	var both sync.WaitGroup
	both.Go(func() { look(0) })
	begin(1) // while the first one answers
	both.Wait()
	look(1)
	for i := range logs {
		for _, want := range []string{"keys:2: must be NAME", "not a calibration: "} {
			if n := strings.Count(logs[i].String(), want); n != 1 {
				t.Errorf("server %d told %d times of %q: %s", i, n, want, logs[i].String())
			}
		}
	}
	if keys.log != nil || file.log != nil {
		t.Error("what the servers were given has a log")
	}
}

// writeMethods are those in which the text of a file is replaced by another of the same length and
// with the same time. Each begins with begin, which returns the path to read, and goes on
// with replace.
var writeMethods = map[string]struct {
	begin   func(t *testing.T, dir string, put func(path, text string)) (path string)
	replace func(t *testing.T, dir string, put func(path, text string))
}{
	"written in place": {beginPlain, func(_ *testing.T, dir string, put func(path, text string)) {
		put(filepath.Join(dir, "file"), "new")
	}},
	"another renamed over it": {beginPlain, func(t *testing.T, dir string, put func(path, text string)) {
		put(filepath.Join(dir, "next"), "new")
		rename(t, filepath.Join(dir, "next"), filepath.Join(dir, "file"))
	}},
	"a copy made before moved back": {func(t *testing.T, dir string, put func(path, text string)) string {
		put(filepath.Join(dir, "copy"), "new")
		return beginPlain(t, dir, put)
	}, func(t *testing.T, dir string, _ func(path, text string)) {
		rename(t, filepath.Join(dir, "copy"), filepath.Join(dir, "file"))
	}},
	"its link led elsewhere": {func(t *testing.T, dir string, put func(path, text string)) string {
		put(filepath.Join(dir, "1"), "old")
		put(filepath.Join(dir, "2"), "new")
		link(t, "1", filepath.Join(dir, "file"))
		return filepath.Join(dir, "file")
	}, func(t *testing.T, dir string, _ func(path, text string)) {
		link(t, "2", filepath.Join(dir, "next"))
		rename(t, filepath.Join(dir, "next"), filepath.Join(dir, "file"))
	}},
	"the link of its folder led elsewhere": {func(t *testing.T, dir string, put func(path, text string)) string {
		put(filepath.Join(dir, "1", "file"), "old")
		put(filepath.Join(dir, "2", "file"), "new")
		link(t, "1", filepath.Join(dir, "..data"))
		link(t, filepath.Join("..data", "file"), filepath.Join(dir, "file"))
		return filepath.Join(dir, "file")
	}, func(t *testing.T, dir string, _ func(path, text string)) {
		link(t, "2", filepath.Join(dir, "..data_tmp"))
		rename(t, filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
	}},
	"removed": {beginPlain, func(t *testing.T, dir string, _ func(path, text string)) {
		if err := os.Remove(filepath.Join(dir, "file")); err != nil {
			t.Fatal(err)
		}
	}},
}

func beginPlain(_ *testing.T, dir string, put func(path, text string)) string {
	put(filepath.Join(dir, "file"), "old")
	return filepath.Join(dir, "file")
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Skip(err)
	}
}

// A key whose line is gone is refused by a server that runs, a second later at most, and the
// key in its place is taken, however the file of keys is replaced by one of the same size and
// time.
func TestRevoked(t *testing.T) {
	for name, way := range writeMethods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			key, line := map[string]string{}, map[string]string{}
			for _, which := range []string{"old", "new"} {
				var err error
				if key[which], line[which], err = NewKey("who", Read); err != nil {
					t.Fatal(err)
				}
			}
			at := time.Unix(1, 0) // the time of all files of a package
			path := way.begin(t, dir, func(path, text string) { writeFileAt(t, path, line[text], at) })
			keys, err := OpenKeys(path)
			if err != nil {
				t.Fatal(err)
			}
			s := newServer(t, Options{Keys: keys})
			with := func(which string) int {
				return (&caller{t: t, s: s, key: key[which]}).get("/v1/info").StatusCode
			}
			if with("old") != 200 || with("new") != 401 {
				t.Fatal("the keys are mixed up from the start")
			}
			way.replace(t, dir, func(path, text string) { writeFileAt(t, path, line[text], at) })
			replaced := time.Now()
			st, err := os.Stat(path)
			if err == nil && (st.Size() != int64(len(line["old"])) || !st.ModTime().Equal(at)) {
				t.Fatal("size or time differ: this is not the test that it is meant to be")
			}
			time.Sleep(time.Until(replaced.Add(watchInterval)))
			if got := with("old"); got != 401 {
				t.Errorf("the old key after a second: %d", got)
			}
			want := 200
			if name == "removed" {
				want = 401
			}
			if got := with("new"); got != want {
				t.Errorf("the new key after a second: %d, want %d", got, want)
			}
		})
	}
}

// writeFileAt writes a file in place, and gives it a time.
func writeFileAt(t *testing.T, path, text string, at time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// A picture that is replaced is another one for those who have seen the first, and its
// thumbnail is made anew, though size and time are the same. Only removed it is gone.
func TestReplacedPicture(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file has no time of its last change there that nobody sets")
	}
	first, second := encodePNG(t, plainPicture(20, 10, red)), encodePNG(t, plainPicture(20, 10, green))
	most := max(len(first), len(second))
	file := map[string]string{"old": string(first) + strings.Repeat("\x00", most-len(first)),
		"new": string(second) + strings.Repeat("\x00", most-len(second))} // after the end of a PNG
	for name, way := range writeMethods {
		t.Run(name, func(t *testing.T) {
			dir, at := t.TempDir(), time.Unix(1, 0)
			path := way.begin(t, dir, func(path, text string) { writeFileAt(t, path, file[text], at) })
			m := &storetest.Memory{Dim: 3}
			it := store.Item{ID: "a", Path: path, Vector: []float32{1, 2, 3}}
			if err := m.Put(t.Context(), []store.Item{it}, store.Insert); err != nil {
				t.Fatal(err)
			}
			s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: m}}})
			seen := map[string]*answer{}
			for _, what := range []string{"picture", "thumbnail"} {
				seen[what] = (&caller{t: t, s: s}).get("/v1/items/a/"+what).want(t, 200)
			}
			time.Sleep(20 * time.Millisecond) // the clock of a file system goes in steps
			way.replace(t, dir, func(path, text string) { writeFileAt(t, path, file[text], at) })
			for what, before := range seen {
				do := &caller{t: t, s: s, header: http.Header{"If-None-Match": {before.Header.Get("Etag")},
					"If-Modified-Since": {time.Now().UTC().Format(http.TimeFormat)}}}
				got := do.get("/v1/items/a/" + what)
				if name == "removed" {
					got.want(t, 404)
				} else if got.want(t, 200); bytes.Equal(got.body, before.body) {
					t.Errorf("the %s is as it was", what)
				}
			}
		})
	}
}
