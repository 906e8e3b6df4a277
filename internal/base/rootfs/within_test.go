package rootfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// layout makes files, folders (names that end in a slash) and links (values that begin with
// "->"). DIR in a link stands for the folder of all.
func layout(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if to, link := strings.CutPrefix(text, "->"); link {
			if err := os.Symlink(strings.ReplaceAll(to, "DIR", dir), at); err != nil {
				t.Skip(err)
			}
		} else if err := os.WriteFile(at, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// roots are some with links in them.
func roots(t *testing.T) (string, *Roots) {
	t.Helper()
	dir := layout(t, map[string]string{
		"in/a/x": "a", "in/b": "b", "other/y": "y", "out/secret": "S", "out/deep/x": "S", "inner/x": "S", "one": "1",
		"in/to-file": "->b", "in/to-folder": "->a", "in/up": "->a/../b", "in/whole": "->DIR/in/b",
		"in/across": "->../other", "in/across-whole": "->DIR/other/y", "in/chain": "->chain2", "in/chain2": "->to-file",
		"in/link": "->../out", "in/deep": "->DIR/out/deep", "in/secret": "->DIR/out/secret", "in/chain-out": "->link2",
		"in/link2": "->secret", "in/a/back": "->../../out/secret", "in/round": "->round", "in/gone": "->nothing",
		"in/gone-out": "->../out/nothing", "in/other-one": "->../one", "alias": "->in", "in/to-alias": "->../alias/b",
	})
	r, err := Open([]string{filepath.Join(dir, "alias"), filepath.Join(dir, "in"), filepath.Join(dir, "other"),
		filepath.Join(dir, "one"), filepath.Join(dir, "not-there")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return dir, r
}

// opened has paths with what is read there; "": nothing, as they lead out.
func opened() map[string]string {
	return map[string]string{
		"DIR/in/b": "b", "DIR/in/a/x": "a", "DIR/in//a/./x": "a", "DIR/in/a/../b": "b", "a/x": "a", "./b": "b",
		"b": "b", "../one": "1", "DIR/one": "1", "DIR/alias/b": "b", "DIR/alias/to-file": "b", "DIR/in/to-file": "b",
		"DIR/in/to-folder/x": "a", "DIR/in/up": "b", "DIR/in/whole": "b", "DIR/in/across/y": "y",
		"DIR/in/across-whole": "y", "DIR/in/chain": "b", "DIR/in/to-folder/../b": "b", "DIR/in/other-one": "1",
		"DIR/in/to-alias": "b", "DIR/other/y": "y",
		"DIR/in/link/secret": "", "DIR/in/link": "", "DIR/in/deep/x": "", "DIR/in/secret": "", "DIR/in/chain-out": "",
		"DIR/in/a/back": "", "DIR/in/link/../in/b": "b", "DIR/in/link/../out/secret": "", "DIR/in/deep/../secret": "",
		"DIR/in/../out/secret": "", "DIR/out/secret": "", "DIR/inner/x": "", "DIR/in/../inner/x": "",
		"../out/secret": "", "DIR/one/x": "", "DIR/onex": "", "DIR": "", "DIR/in/gone-out": "", "/": "", "": "",
		"DIR/in/link/nothing": "",
	}
}

// TestRoots: what is below a root is opened, by links too, and nothing else, by whatever path.
func TestRoots(t *testing.T) {
	dir, r := roots(t)
	t.Chdir(filepath.Join(dir, "in"))
	for path, want := range opened() {
		path = strings.ReplaceAll(path, "DIR", dir)
		text := ""
		f, err := r.Open(path)
		if err == nil {
			b, _ := io.ReadAll(f)
			f.Close()
			text = string(b)
		}
		if text != want {
			t.Errorf("%s: %q, want %q (%v)", path, text, want, err)
		}
		_, statErr := r.Stat(path)
		if want != "" && statErr != nil {
			t.Errorf("stat %s: %v", path, statErr)
		}
		if want == "" && path != "" && (!errors.As(statErr, new(*OutsideError)) ||
			!errors.As(err, new(*OutsideError))) {
			t.Errorf("%s: %v, %v", path, statErr, err)
		}
	}
}

// TestOtherwise: what is not there and what is no file is told apart, below the roots only.
func TestOtherwise(t *testing.T) {
	dir, r := roots(t)
	t.Chdir(filepath.Join(dir, "in"))
	// What is allowed and not there says so.
	for _, path := range []string{"DIR/in/nothing", "DIR/in/gone", "DIR/in/a/nothing"} {
		path = strings.ReplaceAll(path, "DIR", dir)
		if _, err := r.Open(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := r.Open("round"); err == nil {
		t.Error("a link to itself is opened")
	}
	if _, err := r.Open("a"); !errors.As(err, new(*fileinfo.NotRegularError)) {
		t.Errorf("a folder: %v", err)
	}
	names := func(path string) (s string) {
		list, err := r.ReadDir(strings.ReplaceAll(path, "DIR", dir))
		for _, e := range list {
			s += e.Name() + " "
		}
		if err != nil && len(list) > 0 || err == nil && len(list) == 0 {
			t.Errorf("%s: %v, %v", path, list, err)
		}
		return s
	}
	for path, want := range map[string]string{"DIR/in/a": "back x ", "DIR/in/to-folder": "back x ",
		"DIR/other": "y ", "DIR/in/across": "y ", "DIR/in/link": "", "DIR/out": "", "DIR": "", "DIR/in/b": "",
		"DIR/one": ""} {
		if have := names(path); have != want {
			t.Errorf("%s: %q", path, have)
		}
	}
	// Whether there is anything outside is not told.
	for _, pair := range [][2]string{{"DIR/in/link/secret", "DIR/in/link/nothing"},
		{"DIR/out/secret", "DIR/out/nothing"}} {
		var said [2]string
		for i, path := range pair {
			path = strings.ReplaceAll(path, "DIR", dir)
			_, err := r.Open(path)
			said[i] = strings.ReplaceAll(err.Error(), path, "PATH")
		}
		if said[0] != said[1] {
			t.Errorf("%q, and %q", said[0], said[1])
		}
	}
}

// TestSwapped: a link that somebody puts there and takes away again while files are opened
// never has one outside read, and a folder swapped for a link has neither.
func TestSwapped(t *testing.T) {
	dir := layout(t, map[string]string{"in/d/x": "good", "in/spare/x": "good", "out/x": "SECRET"})
	r, err := Open([]string{filepath.Join(dir, "in")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	at := filepath.Join(dir, "in", "d")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			// A folder, a link that leads out, a link that stays, a whole link that leads out.
			_ = os.Rename(at, at+".was")
			for _, to := range []string{"../out", "spare", filepath.Join(dir, "out")} {
				_ = os.Symlink(to, at)
				_ = os.Remove(at)
			}
			_ = os.Rename(at+".was", at)
		}
	})
	good, refused := 0, 0
	for i := 0; i < 200_000 && (i < 3000 || good == 0 || refused == 0); i++ {
		b, err := readFile(r, filepath.Join(at, "x"))
		switch {
		case err != nil:
			refused++
		case string(b) == "good":
			good++
		default:
			t.Fatalf("read %q", b)
		}
	}
	close(stop)
	wg.Wait()
	if good == 0 || refused == 0 {
		t.Errorf("%d read, %d refused: nothing was tried", good, refused)
	}
}

// TestLocal: what is read by its path is a copy, of files below the roots alone, and gone when
// the roots are closed; without roots it is the file itself.
func TestLocal(t *testing.T) {
	dir := layout(t, map[string]string{"in/w.onnx": "W", "in/net/model": "M", "in/net/sub/x": "no", "out/w": "S",
		"in/link": "->../out/w", "in/bad/link": "->../../out/w"})
	r, err := Open([]string{filepath.Join(dir, "in")})
	if err != nil {
		t.Fatal(err)
	}
	ctx := WithRoots(t.Context(), r)
	at := filepath.Join(dir, "in", "w.onnx")
	if path, err := LocalCopy(t.Context(), at); path != at || err != nil {
		t.Error(path, err)
	}
	var copies []string
	for name, want := range map[string]string{"in/w.onnx": "W", "in/net": "M"} {
		path, err := LocalCopy(ctx, filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, path)
		if name == "in/net" {
			if _, err := os.Stat(filepath.Join(path, "sub")); err == nil {
				t.Error("folders in it are copied")
			}
			path = filepath.Join(path, "model")
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != want || strings.HasPrefix(path, dir) {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	for _, name := range []string{"in/link", "in/bad", "out/w"} {
		if path, err := LocalCopy(ctx, filepath.Join(dir, name)); err == nil ||
			!strings.Contains(err.Error(), "--allow") {
			t.Errorf("%s: %s, %v", name, path, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range copies {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s stays: %v", path, err)
		}
	}
}

// TestAnything: without roots all is opened as ever.
func TestAnything(t *testing.T) {
	dir := layout(t, map[string]string{"out/x": "X", "in/link": "->../out/x"})
	var r *Roots
	b, err := readFile(r, filepath.Join(dir, "in", "link"))
	if string(b) != "X" || err != nil || FromContext(t.Context()) != nil ||
		FromContext(WithRoots(t.Context(), nil)) != nil ||
		r.Close() != nil {
		t.Errorf("%q, %v", b, err)
	}
	if more, err := r.WithRoot(dir); more != nil || err != nil {
		t.Error(more, err)
	}
}

// readFile reads a file below the roots.
func readFile(r *Roots, path string) ([]byte, error) {
	f, err := r.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
