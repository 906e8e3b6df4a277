package weights

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/app/remote/download"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/torchfile"
)

// Getter fetches weights. Zero fields are the stated defaults.
type Getter struct {
	// Home is the cache folder (see Home). Required.
	Home string
	// From is where to fetch from instead of the official address: that of the file
	// or, if it ends in "/", of a folder that has it under its name in the cache.
	From string
	// Offline leaves out the network.
	Offline bool
	// Entries are the known weights; default Catalog().
	Entries []Entry
	// Client is how to download.
	Client download.Client
	// Progress, if set, receives a remark per step.
	Progress func(line string)
}

// Result says where weights are and how they came there.
type Result struct {
	Entry
	Path string `json:"path"`
	// Way is "cached", or the address that the file came from.
	Way string `json:"way"`
	// Found is the size and digest of the file.
	Found Digest `json:"found"`
	// Checked is how it was compared with the official file: "sha256", or
	// "contents" where no digest is known: it was read as weights.
	Checked string `json:"checked"`
}

// Digest is what a file is known by.
type Digest struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// UnavailableError reports weights that are not here and could not be fetched.
type UnavailableError struct {
	Entry Entry
	Path  string
	Err   error
}

func (u *UnavailableError) Error() string {
	return fmt.Sprintf("weights %s are not in the cache and were not fetched: %v; to provide them yourself, put %s "+
		"at %s",
		u.Entry.Name, u.Err, u.Entry.URL, u.Path)
}

func (u *UnavailableError) Unwrap() error { return u.Err }

// errOffline is why nothing was fetched where fetching is off.
var errOffline = errors.New("fetching is off (offline)")

// Get makes sure that the weights called name are in the cache folder, and what
// they should be. The error is an *Unavailable where they could not be had.
func (g *Getter) Get(ctx context.Context, name string) (*Result, error) {
	if g.Entries == nil {
		g.Entries = Catalog()
	}
	e, err := findEntry(g.Entries, name)
	if err != nil {
		return nil, err
	}
	r := &Result{Entry: e, Path: e.Path(g.Home), Way: "cached", Checked: "sha256"}
	if e.SHA256 == "" {
		r.Checked = "contents"
	}
	switch r.Found, err = e.check(ctx, r.Path); {
	case err == nil:
		return r, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !errors.Is(err, os.ErrNotExist):
		g.report("%v: it is fetched again", err)
	}
	r.Way = cmp.Or(g.From, e.URL)
	if strings.HasSuffix(r.Way, "/") {
		r.Way += e.File
	}
	if g.Offline {
		return nil, &UnavailableError{e, r.Path, errOffline}
	}
	if err := os.MkdirAll(g.Home, 0o777); err != nil {
		return nil, err
	}
	file := download.File{URL: r.Way, Path: r.Path, IsUserURL: g.From != "", Check: func(path string) error {
		r.Found, err = e.check(ctx, path)
		return err
	}}
	if file.MaxBytes = e.maxBytes(); e.Exact {
		file.Bytes = e.Bytes
	}
	g.report("%s: %s from %s", e.Name, budget.Format(e.Bytes), r.Way)
	begun := time.Now()
	err = g.Client.Get(ctx, file)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		return nil, &UnavailableError{e, r.Path, err}
	}
	g.report("%s: done in %v", e.Name, time.Since(begun).Round(100*time.Millisecond))
	return r, nil
}

func (g *Getter) report(format string, args ...any) {
	if g.Progress != nil {
		g.Progress(fmt.Sprintf(format, args...))
	}
}

// check compares the file at path with the entry: its size and its digest, or,
// where that is not known, whether it can be read as weights.
func (e *Entry) check(ctx context.Context, path string) (Digest, error) {
	var d Digest
	f, size, err := fileinfo.OpenSized(path)
	if err != nil {
		return d, err
	}
	defer f.Close()
	name := filepath.Base(path)
	if d.Bytes = size; !e.matchesSize(d.Bytes) {
		about := "about "
		if e.Exact {
			about = ""
		}
		return d, fmt.Errorf("%s has %d bytes, the official file %s%d", name, d.Bytes, about, e.Bytes)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, download.NewContextReader(ctx, f)); err != nil {
		return d, err
	}
	d.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if e.SHA256 != "" {
		if d.SHA256 != e.SHA256 {
			return d, fmt.Errorf("%s: SHA-256 is %s, of the official file %s", name, d.SHA256, e.SHA256)
		}
		return d, nil
	}
	w, err := torchfile.ReadWeights(path)
	if err == nil && len(w.Tensors) == 0 {
		err = errors.New("it has no tensors")
	}
	if err != nil {
		return d, fmt.Errorf("%s is not a file of weights: %w", name, err)
	}
	return d, nil
}
