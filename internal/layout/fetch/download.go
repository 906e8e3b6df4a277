package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// download writes what is at address to the file to and compares its MD5 where
// one is given.
func (g *Getter) download(ctx context.Context, address, to, md5 string) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := g.client().Do(req)
	if err != nil {
		return shorten(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: the server answers %s", address, resp.Status)
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	stalled := fmt.Errorf("%s: no data for %v", address, g.StallTimeout)
	timer := time.AfterFunc(g.StallTimeout, func() { cancel(stalled) })
	defer timer.Stop()
	alive := func() { timer.Reset(g.StallTimeout) }
	tell := func(n int64) {
		g.Progress(fmt.Sprintf("%s: %d of %d MB", path.Base(address), n>>20, max(n, resp.ContentLength)>>20))
	}
	n, err := io.Copy(f, &watched{r: resp.Body, alive: alive, tell: tell})
	if errors.Is(context.Cause(ctx), stalled) {
		return stalled
	}
	if err != nil {
		return fmt.Errorf("%s: after %d bytes: %w", address, n, err)
	}
	if md5 != "" {
		return sameMD5(to, md5)
	}
	return nil
}

// shorten leaves out what Go repeats about a failed request.
func shorten(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return fmt.Errorf("%s: %w", u.URL, u.Err)
	}
	return err
}

// watched calls alive at every read that brings bytes, and tell with their sum
// about every 16 MB.
type watched struct {
	r       io.Reader
	alive   func()
	tell    func(n int64)
	n, told int64
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.alive()
	}
	w.n += int64(n)
	if w.n-w.told >= 16<<20 {
		w.told = w.n
		w.tell(w.n)
	}
	return n, err
}

// archives downloads the set's archives into dir.
func (g *Getter) archives(ctx context.Context, set Set, dir string) error {
	for _, a := range set.Archives {
		name := path.Base(a.URL)
		to := filepath.Join(dir, name)
		if err := g.download(ctx, a.URL, to, a.MD5); err != nil {
			return err
		}
		if strings.HasSuffix(name, ".tgz") || strings.HasSuffix(name, ".tar.gz") {
			if err := unpack(ctx, to, dir, nil); err != nil {
				return err
			}
			if err := os.Remove(to); err != nil {
				return err
			}
		}
	}
	return hoist(dir)
}

// hoist moves the content of dir's only entry, a folder, up into dir: official
// archives wrap their files in a folder of their own name.
func hoist(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var visible []os.DirEntry
	for _, e := range entries {
		if e.IsDir() {
			visible = append(visible, e)
		}
	}
	if len(visible) != 1 || visible[0].Name() == "images" {
		return nil
	}
	inner := filepath.Join(dir, visible[0].Name())
	parts, err := os.ReadDir(inner)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if _, err := os.Lstat(filepath.Join(dir, p.Name())); err == nil {
			continue // a loose file of the same name stays
		}
		if err := os.Rename(filepath.Join(inner, p.Name()), filepath.Join(dir, p.Name())); err != nil {
			return err
		}
	}
	return os.RemoveAll(inner)
}
