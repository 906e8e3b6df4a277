package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// server serves content under the ETag "one" and logs the ranges that were asked
// for; serve may answer in its place by returning true.
type server struct {
	*httptest.Server
	content []byte
	etag    string
	ranges  []string
}

func serve(t *testing.T, content []byte, instead func(w http.ResponseWriter, r *http.Request, n int) bool) *server {
	s := &server{content: content, etag: `"one"`}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		if instead != nil && instead(w, r, len(s.ranges)) {
			return
		}
		w.Header().Set("ETag", s.etag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.content))
	}))
	t.Cleanup(s.Close)
	return s
}

// writeCut answers with the first n bytes of b, announced as all of it.
func writeCut(w http.ResponseWriter, b []byte, n int) bool {
	w.Header().Set("ETag", `"one"`)
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	w.Write(b[:n])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func newClient() *Client {
	return &Client{Connect: 30 * time.Second, Stall: 30 * time.Second, Pause: time.Millisecond}
}

func newText(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*i>>5 ^ i)
	}
	return b
}

// checkFile compares a file with what it must hold, and the names beside it.
func checkFile(t *testing.T, path string, want []byte, beside ...string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if want != nil && (err != nil || !bytes.Equal(got, want)) {
		t.Errorf("%s: %d bytes of %d, %v", path, len(got), len(want), err)
	}
	if want == nil && err == nil {
		t.Errorf("%s is there", path)
	}
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			names = append(names, strings.TrimPrefix(e.Name(), filepath.Base(path)))
		}
	}
	if !slices.Equal(names, beside) {
		t.Errorf("beside it: %q, want %q", names, beside)
	}
}

func TestGet(t *testing.T) {
	want := newText(600_000)
	s := serve(t, want, nil)
	path := filepath.Join(t.TempDir(), "f")
	var told []int64
	c := newClient()
	c.Progress = func(done, total int64) {
		if told = append(told, done); total != int64(len(want)) {
			t.Errorf("of %d", total)
		}
	}
	checked := ""
	err := c.Get(t.Context(), File{URL: s.URL, Path: path, Bytes: int64(len(want)), Check: func(p string) error {
		checked = p
		return nil
	}})
	if err != nil || checked != path+".part" {
		t.Fatal(checked, err)
	}
	checkFile(t, path, want)
	if len(told) == 0 || !slices.IsSorted(told) || told[len(told)-1] != int64(len(want)) {
		t.Errorf("told %v", told)
	}
}

// A transfer that breaks off goes on where it stopped.
func TestResumeInOneCall(t *testing.T) {
	want := newText(600_000)
	s := serve(t, want, func(w http.ResponseWriter, _ *http.Request, n int) bool {
		return n == 1 && writeCut(w, want, 100_000)
	})
	path := filepath.Join(t.TempDir(), "f")
	if err := newClient().Get(t.Context(), File{URL: s.URL, Path: path}); err != nil {
		t.Fatal(err)
	}
	checkFile(t, path, want)
	if len(s.ranges) != 2 || s.ranges[0] != "" || s.ranges[1] != "bytes=100000-" {
		t.Errorf("asked for %q", s.ranges)
	}
}

// writePart writes a part, of which so many bytes are durable.
func writePart(path string, content []byte, durable int) {
	os.WriteFile(path+".part", content, 0o666)
	os.WriteFile(path+".part.tag", fmt.Appendf(nil, "\"one\"\n%d", durable), 0o666)
}

func TestResumeInALaterCall(t *testing.T) {
	want := newText(600_000)
	for _, c := range []struct {
		name   string
		change func(s *server, path string)
		ranges []string // of the second call
	}{
		{"as it was", func(*server, string) {}, []string{"bytes=100000-"}},
		{"changed meanwhile", func(s *server, _ string) { s.etag, s.content = `"two"`, newText(700_000) },
			[]string{"bytes=100000-"}}, // answered with all of it
		{"tag lost", func(_ *server, path string) { os.Remove(path + ".part.tag") }, []string{""}},
		{"tag damaged", func(_ *server, path string) { os.WriteFile(path+".part.tag", []byte("a\nb"), 0o666) },
			[]string{""}},
		{"another beginning", func(_ *server, path string) { os.WriteFile(path+".part", make([]byte, 100_000), 0o666) },
			[]string{"bytes=100000-", ""}},
		{"all of it here", func(s *server, path string) { writePart(path, s.content, 600_000) },
			[]string{"bytes=600000-"}},
		{"more than all", func(s *server, path string) { writePart(path, make([]byte, 700_000), 700_000) },
			[]string{"bytes=700000-", ""}},
		{"not all durable", func(s *server, path string) {
			writePart(path, append(bytes.Clone(s.content[:90_000]), make([]byte, 9000)...), 90_000)
		}, []string{"bytes=90000-"}},
		{"less than was durable", func(s *server, path string) { writePart(path, s.content[:50_000], 100_000) },
			[]string{"bytes=50000-"}},
		{"a tag of an earlier version", func(_ *server, path string) {
			os.WriteFile(path+".part.tag", []byte(`"one"`), 0o666)
		}, []string{""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			broken := true
			s := serve(t, want, func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				return broken && writeCut(w, want, 100_000)
			})
			path := filepath.Join(t.TempDir(), "f")
			check := func(p string) error {
				if got, err := os.ReadFile(p); err != nil || !bytes.Equal(got, s.content) {
					return errors.New("not the file")
				}
				return nil
			}
			f := File{URL: s.URL, Path: path, Check: check}
			if err := newClient().Get(t.Context(), f); err == nil ||
				!strings.Contains(err.Error(), "after 100000 bytes") {
				t.Fatal(err)
			}
			checkFile(t, path, nil, ".part", ".part.tag")
			broken, s.ranges = false, nil
			c.change(s, path)
			if err := newClient().Get(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			checkFile(t, path, s.content)
			if !slices.Equal(s.ranges, c.ranges) {
				t.Errorf("asked for %q, want %q", s.ranges, c.ranges)
			}
		})
	}
}

// What cannot be the file is an error that says why, and nothing is left of it.
func TestWrongContent(t *testing.T) {
	want := newText(1000)
	s := serve(t, want, nil)
	chunked := serve(t, want, func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		w.(http.Flusher).Flush()
		w.Write(want)
		return true
	})
	tagged := serve(t, want, func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		w.Header().Set("ETag", `"one"`)
		w.(http.Flusher).Flush()
		w.Write(want)
		return true
	})
	endless := serve(t, want, func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		w.Header().Set("ETag", `"one"`)
		w.(http.Flusher).Flush()
		for n := 0; n < 8<<20; n += len(want) {
			if _, err := w.Write(want); err != nil {
				break
			}
		}
		return true
	})
	for _, c := range []struct {
		f    File
		says string
	}{
		{File{URL: s.URL, Check: func(string) error { return errors.New("SHA-256 differs") }}, "SHA-256 differs"},
		{File{URL: s.URL, Bytes: 999}, "the server's file has 1000 bytes, the official one 999"},
		{File{URL: s.URL, Bytes: 1001}, "the server's file has 1000 bytes, the official one 1001"},
		{File{URL: chunked.URL, Bytes: 999}, "more than the 999 B of the file arrive"},
		{File{URL: chunked.URL, Bytes: 1001}, "the server ended after 1000 of 1001 bytes"},
		{File{URL: tagged.URL, Bytes: 1001}, "the server ended after 1000 of 1001 bytes"},
		{File{URL: s.URL, MaxBytes: 999}, "the server's file has 1000 bytes, and at most 999 are expected"},
		{File{URL: chunked.URL, MaxBytes: 999}, "more than the 999 B of the file arrive"},
		{File{URL: endless.URL, MaxBytes: 1 << 20}, "more than the 1 MiB of the file arrive"},
	} {
		c.f.Path = filepath.Join(t.TempDir(), "f")
		os.WriteFile(c.f.Path, []byte("old"), 0o666)
		if err := newClient().Get(t.Context(), c.f); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: want %q", err, c.says)
		}
		if c.f.URL == tagged.URL { // it may go on
			checkFile(t, c.f.Path, []byte("old"), ".part", ".part.tag")
			continue
		}
		checkFile(t, c.f.Path, []byte("old"))
	}
}

func TestAnswers(t *testing.T) {
	want := newText(1000)
	for _, c := range []struct {
		codes []int
		tries int
		says  string
	}{
		{[]int{404}, 1, "the server answers 404 Not Found"},
		{[]int{403}, 1, "403"},
		{[]int{503, 429}, 3, ""},
		{[]int{500, 500, 500}, 3, "the server answers 500"},
	} {
		s := serve(t, want, func(w http.ResponseWriter, _ *http.Request, n int) bool {
			if n > len(c.codes) {
				return false
			}
			w.WriteHeader(c.codes[n-1])
			return true
		})
		path := filepath.Join(t.TempDir(), "f")
		err := newClient().Get(t.Context(), File{URL: s.URL, Path: path})
		if c.says == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v", c.codes, err)
		}
		if len(s.ranges) != c.tries {
			t.Errorf("%v: asked %d times", c.codes, len(s.ranges))
		}
		if c.says != "" {
			checkFile(t, path, nil)
		}
	}
}

func TestRedirections(t *testing.T) {
	want := newText(600_000)
	s := serve(t, want, func(w http.ResponseWriter, _ *http.Request, n int) bool {
		return n == 1 && writeCut(w, want, 100_000)
	})
	r := httptest.NewServer(http.RedirectHandler(s.URL, http.StatusFound))
	defer r.Close()
	path := filepath.Join(t.TempDir(), "f")
	if err := newClient().Get(t.Context(), File{URL: r.URL, Path: path}); err != nil {
		t.Fatal(err)
	}
	checkFile(t, path, want)
	if len(s.ranges) != 2 || s.ranges[1] != "bytes=100000-" {
		t.Errorf("asked for %q", s.ranges)
	}

	var loop *httptest.Server
	loop = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, loop.URL, http.StatusFound)
	}))
	defer loop.Close()
	if err := newClient().Get(t.Context(), File{URL: loop.URL, Path: path}); err == nil ||
		!strings.Contains(err.Error(), "redirected ten times") {
		t.Error(err)
	}
}

// TestRedirectedTo: where servers may send on to, from an address of the program and from one
// that a user gave; a refusal is said at once, and no byte is taken from there.
func TestRedirectedTo(t *testing.T) {
	for _, c := range []struct {
		from, to   string
		own, given bool
	}{
		{"https://a.org/x", "https://a.org/y", true, true},
		{"https://a.org/x", "https://a.org:8443/y", true, true},
		{"http://a.org/x", "https://a.org/x", true, true},
		{"http://a.org:81/x", "http://a.org:81/y", true, true},
		{"http://a.org/x", "http://a.org:81/y", true, false},
		{"https://a.org/x", "https://b.org/x", true, false},
		{"http://a.org/x", "https://b.org/x", true, false},
		{"https://a.org/x", "https://a.org.evil/x", true, false},
		{"http://a.org/x", "http://b.org/x", false, false},
		{"https://a.org/x", "http://a.org/x", false, false},
		{"https://a.org/x", "http://b.org/x", false, false},
		{"https://a.org/x", "ftp://a.org/x", false, false},
		{"http://127.0.0.1:80/x", "http://localhost:80/x", false, false},
	} {
		for given, want := range map[bool]bool{false: c.own, true: c.given} {
			from, _ := http.NewRequest("GET", c.from, nil)
			to, _ := http.NewRequest("GET", c.to, nil)
			err := newClient().http(given).CheckRedirect(to, []*http.Request{from})
			if (err == nil) != want || err != nil && !strings.Contains(err.Error(), c.to) {
				t.Errorf("%s to %s, given %v: %v", c.from, c.to, given, err)
			}
		}
	}
	asked := 0
	there := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer there.Close()
	here := httptest.NewServer(http.RedirectHandler(there.URL, http.StatusFound))
	defer here.Close()
	path := filepath.Join(t.TempDir(), "f")
	c := newClient()
	c.Pause = time.Minute
	err := c.Get(t.Context(), File{URL: here.URL, Path: path, IsUserURL: true})
	if err == nil || !strings.Contains(err.Error(), here.URL+": redirected to "+there.URL) || asked > 0 {
		t.Errorf("%v; asked %d times", err, asked)
	}
}

// Without a network the answer is there at once.
func TestUnreachable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	c := newClient()
	c.Pause = time.Minute
	err := c.Get(t.Context(), File{URL: "http://127.0.0.1:1/f", Path: path})
	var u *UnreachableError
	if !errors.As(err, &u) || u.Host != "127.0.0.1" || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	checkFile(t, path, nil)
}

func TestStall(t *testing.T) {
	hang := make(chan struct{})
	s := serve(t, newText(1000), func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		w.Header().Set("ETag", `"one"`)
		w.Header().Set("Content-Length", "1000")
		w.Write([]byte{1})
		w.(http.Flusher).Flush()
		<-hang
		return true
	})
	t.Cleanup(func() { close(hang) }) // before the server closes
	c := newClient()
	c.Tries, c.Stall = 1, 300*time.Millisecond
	path := filepath.Join(t.TempDir(), "f")
	if err := c.Get(t.Context(), File{URL: s.URL, Path: path}); err == nil ||
		!strings.Contains(err.Error(), "no data for 300ms") {
		t.Error(err)
	}
}

func TestStopKeepsWhatArrived(t *testing.T) {
	want := newText(600_000)
	hang := make(chan struct{})
	s := serve(t, want, func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n > 1 {
			return false
		}
		w.Header().Set("ETag", `"one"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(want)))
		w.Write(want[:1000])
		w.(http.Flusher).Flush()
		<-hang
		return true
	})
	t.Cleanup(func() { close(hang) })
	ctx, cancel := context.WithCancel(t.Context())
	c := newClient()
	c.Stall = time.Minute
	c.Progress = func(int64, int64) { cancel() }
	path := filepath.Join(t.TempDir(), "f")
	if err := c.Get(ctx, File{URL: s.URL, Path: path}); err != context.Canceled {
		t.Fatal(err)
	}
	checkFile(t, path, nil, ".part", ".part.tag")
	if err := newClient().Get(t.Context(), File{URL: s.URL, Path: path}); err != nil {
		t.Fatal(err)
	}
	checkFile(t, path, want)
	if s.ranges[1] != "bytes=1000-" {
		t.Errorf("asked for %q", s.ranges)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	s := serve(t, newText(1000), nil)
	path := filepath.Join(t.TempDir(), "f")
	held, err := openPart(newClient().files, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := newClient().Get(t.Context(), File{URL: s.URL, Path: path}); err == nil ||
		!strings.Contains(err.Error(), "is being downloaded by another process") {
		t.Error(err)
	}
	held.close()
	if err := newClient().Get(t.Context(), File{URL: s.URL, Path: path}); err != nil {
		t.Error(err)
	}
}
