package weights

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/app/remote/download"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

func TestCatalogIsWellFormed(t *testing.T) {
	names, files := map[string]bool{}, map[string]bool{}
	for _, e := range Catalog() {
		if names[e.Name] || files[e.File] {
			t.Errorf("%s: twice", e.Name)
		}
		names[e.Name], files[e.File] = true, true
		if e.Network == "" || e.Trained == "" || e.License == "" || e.Home == "" || e.Size == 0 || e.Shorter < e.Size ||
			e.Bytes == 0 || !strings.HasPrefix(e.URL, "https://") {
			t.Errorf("%+v lacks a field", e)
		}
		if (e.Top1 == 0) != (e.Measured == "") {
			t.Errorf("%s: accuracy %v, measured %q", e.Name, e.Top1, e.Measured)
		}
		if _, err := hex.DecodeString(e.SHA256); err != nil || len(e.SHA256) != 0 && len(e.SHA256) != 64 {
			t.Errorf("%s: digest %q", e.Name, e.SHA256)
		}
		// torchvision puts the first digits of the digest into the name.
		if strings.HasPrefix(e.URL, torchvision) && !strings.HasSuffix(e.File, "-"+e.SHA256[:8]+".pth") {
			t.Errorf("%s: digest %s of %s", e.Name, e.SHA256, e.File)
		}
		if filepath.Base(e.File) != e.File {
			t.Errorf("%s: file %q", e.Name, e.File)
		}
		if _, err := prepare.ParseNormalization(e.Pixels); err != nil || e.Pixels == "" {
			t.Errorf("%s: pixels %q: %v", e.Name, e.Pixels, err)
		}
		if !slices.Contains(zoo.Networks(), e.Network) {
			t.Errorf("%s: there is no network %s", e.Name, e.Network)
		}
	}
}

func TestFind(t *testing.T) {
	if e, err := Find("resnet18"); err != nil || e.Network != "resnet18" {
		t.Errorf("%+v %v", e, err)
	}
	for name, says := range map[string]string{
		"resnet-18": `did you mean "resnet18"?`, "zzzzzzzzzzzzzz": "there are mobilenet_v2, ",
		strings.Repeat("long", 1<<16): `"` + strings.Repeat("long", 16) + `..."`,
	} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestHome(t *testing.T) {
	t.Setenv(EnvHome, "/somewhere")
	if h, err := Home("given"); h != "given" || err != nil {
		t.Error(h, err)
	}
	if h, err := Home(""); h != "/somewhere" || err != nil {
		t.Error(h, err)
	}
	t.Setenv(EnvHome, "")
	t.Setenv("XDG_CACHE_HOME", "/c")
	t.Setenv("HOME", "/h") // where other systems look
	if h, err := Home(""); err != nil || filepath.Base(h) != "weights" || filepath.Base(filepath.Dir(h)) != "kindred" {
		t.Error(h, err)
	}
}

// writeEntry makes a file of the entry's size in a cache folder.
func writeEntry(t *testing.T, home, name string) {
	t.Helper()
	e, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(e.Path(home))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(e.Bytes), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestStart(t *testing.T) {
	home := t.TempDir()
	if e, cached := DefaultStart(home); e.Name != startName || cached {
		t.Errorf("nothing cached: %s %v", e.Name, cached)
	}
	writeEntry(t, home, "resnet50")
	writeEntry(t, home, "resnet18")
	if e, cached := DefaultStart(home); e.Name != "resnet18" || !cached {
		t.Errorf("others cached: %s %v", e.Name, cached)
	}
	writeEntry(t, home, startName)
	if e, cached := DefaultStart(home); e.Name != startName || !cached {
		t.Errorf("the usual one cached: %s %v", e.Name, cached)
	}
	if list := Cached(home); len(list) != 3 || list[0].Name != startName || list[2].Name != "resnet50" {
		t.Errorf("cached: %v", list)
	}
	e, err := Find("resnet18")
	if err != nil || os.Truncate(e.Path(home), 1000) != nil { // not whole
		t.Fatal(err)
	}
	if n := len(Cached(home)); n != 2 {
		t.Errorf("%d cached, one of them truncated", n)
	}
}

// newContent is a small file of weights.
func newContent(t *testing.T) []byte {
	var b bytes.Buffer
	f := safetensors.File{Tensors: []safetensors.Tensor{safetensors.Float32("w", []int{300}, make([]float32, 300))}}
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// newGetter knows the weights "small", with a digest, and "loose", without, which lie
// at the address of a server.
func newGetter(t *testing.T, address string) *Getter {
	b := newContent(t)
	sum := sha256.Sum256(b)
	small := Entry{Name: "small", URL: address, File: "small.pth", Bytes: int64(len(b)), Exact: true,
		SHA256: hex.EncodeToString(sum[:])}
	loose := Entry{Name: "loose", URL: address, File: "loose.safetensors", Bytes: int64(len(b)) + 5}
	return &Getter{Home: filepath.Join(t.TempDir(), "cache"), Entries: []Entry{small, loose},
		Client:   download.Client{Connect: 30 * time.Second, Stall: 30 * time.Second, Pause: time.Millisecond},
		Progress: func(line string) { t.Log(line) }}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func serveWhole(b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}
}

func TestGet(t *testing.T) {
	b := newContent(t)
	address := serve(t, serveWhole(b))
	g := newGetter(t, address)
	for name, checked := range map[string]string{"small": "sha256", "loose": "contents"} {
		r, err := g.Get(t.Context(), name)
		if err != nil || r.Way != address || r.Checked != checked || r.Found.Bytes != int64(len(b)) ||
			len(r.Found.SHA256) != 64 {
			t.Fatalf("%+v %v", r, err)
		}
		if got, err := os.ReadFile(r.Path); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%d bytes %v", len(got), err)
		}
		// Once more, without a network.
		g.Offline = true
		if r, err = g.Get(t.Context(), name); err != nil || r.Way != "cached" || r.Checked != checked {
			t.Errorf("%+v %v", r, err)
		}
		g.Offline = false
	}
	// A damaged file is replaced.
	path := filepath.Join(g.Home, "small.pth")
	bad := bytes.Clone(b)
	bad[20]++
	if err := os.WriteFile(path, bad, 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := g.Get(t.Context(), "small"); err != nil || r.Way != address {
		t.Errorf("%+v %v", r, err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, b) {
		t.Errorf("%d bytes %v", len(got), err)
	}
	if _, err := g.Get(t.Context(), "smal"); err == nil || !strings.Contains(err.Error(), `did you mean "small"?`) {
		t.Error(err)
	}
}

func TestGetFromElsewhere(t *testing.T) {
	b := newContent(t)
	asked := ""
	mirror := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		serveWhole(b)(w, r)
	})
	g := newGetter(t, "http://127.0.0.1:1/")
	g.From = mirror + "/weights/"
	if r, err := g.Get(t.Context(), "small"); err != nil || asked != "/weights/small.pth" || r.Way != mirror+asked {
		t.Errorf("%+v %v, asked for %s", r, err, asked)
	}
	g.From = mirror + "/other-name"
	if _, err := g.Get(t.Context(), "loose"); err != nil || asked != "/other-name" {
		t.Errorf("%v, asked for %s", err, asked)
	}
}

// Every way in which a file cannot be had is one line that names it, its address
// and its place, and leaves no file under its name.
func TestGetFailures(t *testing.T) {
	b := newContent(t)
	bad := bytes.Clone(b)
	bad[len(bad)-1]++
	page := bytes.Repeat([]byte("<html>blocked</html>"), len(b)/20+1)[:len(b)]
	for _, c := range []struct {
		name, weights string
		address       string
		says          string
	}{
		{"wrong checksum", "small", serve(t, serveWhole(bad)), "SHA-256 is"},
		{"another size", "small", serve(t, serveWhole(b[:1000])), "the server's file has 1000 bytes, the official one"},
		{"truncated", "small", serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(b)))
			w.Write(b[:1000])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}), "after 1000 bytes"},
		{"truncated, size unknown", "loose", serve(t, serveWhole(b[:600])),
			"has 600 bytes, the official file about"},
		{"not there", "small", serve(t, http.NotFound), "404 Not Found"},
		{"a page instead", "loose", serve(t, serveWhole(page)), "is not a file of weights"},
		{"no network", "small", "http://127.0.0.1:1/f", "127.0.0.1 cannot be reached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGetter(t, c.address)
			r, err := g.Get(t.Context(), c.weights)
			var u *UnavailableError
			if !errors.As(err, &u) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%+v %v, want %q", r, err, c.says)
			}
			for _, want := range []string{c.weights, c.address, g.Home} {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not mention %q", err, want)
				}
			}
			for _, e := range g.Entries {
				if _, err := os.Stat(e.Path(g.Home)); err == nil {
					t.Errorf("%s is there", e.File)
				}
			}
		})
	}
	g := newGetter(t, "http://127.0.0.1:1/f")
	g.Offline = true
	if _, err := g.Get(t.Context(), "small"); err == nil ||
		!strings.Contains(err.Error(), "fetching is off (offline)") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Get(ctx, "small"); !errors.Is(err, context.Canceled) && !errors.As(err, new(*UnavailableError)) {
		t.Error(err)
	}
}

// A mirror that does not say how much it sends, and sends more than the file can be, is
// left as soon as it does, and nothing of it stays.
func TestGetFromLyingMirror(t *testing.T) {
	for name, length := range map[string]string{"small": "", "loose": "", "loose, announced": "67108864"} {
		sent := 0
		g := newGetter(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			w.(http.Flusher).Flush()
			for b := make([]byte, 1<<16); sent < 64<<20; sent += len(b) {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		}))
		name, _, _ = strings.Cut(name, ",")
		r, err := g.Get(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), "more than the ") &&
			!strings.Contains(err.Error(), "at most ") {
			t.Errorf("%s: %+v %v", name, r, err)
		}
		left, err := os.ReadDir(g.Home)
		if err != nil || len(left) != 0 {
			t.Errorf("%s: %v left, %v", name, left, err)
		}
	}
}

// A download that broke off is taken up by the next call, through a redirection
// too.
func TestGetResumes(t *testing.T) {
	b := newContent(t)
	var ranges []string
	broken := true
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/file" {
			http.Redirect(w, r, "/file", http.StatusFound)
			return
		}
		ranges = append(ranges, r.Header.Get("Range"))
		if broken {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Length", fmt.Sprint(len(b)))
			w.Write(b[:700])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		serveWhole(b)(w, r)
	})
	g := newGetter(t, address)
	g.Client.Tries = 1
	if _, err := g.Get(t.Context(), "small"); err == nil {
		t.Fatal("a broken download is taken for whole")
	}
	broken, ranges = false, nil
	r, err := g.Get(t.Context(), "small")
	if err != nil || len(ranges) != 1 || ranges[0] != "bytes=700-" {
		t.Fatalf("%v, asked for %q", err, ranges)
	}
	if entries, _ := os.ReadDir(g.Home); len(entries) != 1 || r.Found.Bytes != int64(len(b)) {
		t.Errorf("%v, %+v", entries, r.Found)
	}
}
