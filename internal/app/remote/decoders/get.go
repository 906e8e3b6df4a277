// Package decoders fetches the decoder for HEIC, which is not part of the program; package internal/format/heic says
// why.
package decoders

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/kindred-ml/kindred/internal/app/remote/download"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/heic"
)

// The decoder: libheif 1.18.2 with libde265 1.0.15, as the Go module distributes them.
const (
	Home         = "https://github.com/gen2brain/heic"
	License      = "LGPL-3.0"
	module       = "github.com/gen2brain/heic@v0.4.9"
	moduleMember = "lib/heif.wasm.gz" // in the module
	moduleURL    = Home + "/raw/v0.4.9/" + moduleMember
	maxModule    = 16 << 20 // bytes of it, compressed or not
	moduleDigest = "04e7804a4ef20096660ac9347face433661b3c06e4da825c2dac15c06f101657"
)

// Getter fetches the decoder.
type Getter struct {
	// From is an address to fetch the compressed module from in place of the official one.
	From string
	// Offline leaves out the network: a decoder that is there is checked.
	Offline bool
	Client  download.Client
	// Progress, if set, receives a remark per step.
	Progress func(line string)
}

// Result says where the decoder is and how it came there.
type Result struct {
	Path string `json:"path"`
	// Way is "present", or where the decoder came from.
	Way string `json:"way"`
	// SHA256 is the digest of the decoder, which is that of the published one.
	SHA256 string `json:"sha256"`
}

// Check returns an error if something is at a decoder's path that cannot be read, such as a folder. No file is not an
// error.
func Check(path string) error {
	_, err := readDecoder(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readDecoder reads the decoder at a path.
func readDecoder(path string) ([]byte, error) {
	b, err := fileinfo.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the decoder cannot be read: %w; remove what is there, then run "+
			"'kindred formats get heic'", err)
	}
	return b, err
}

// Get makes sure that the published decoder is there. Another file is replaced or, with Offline, an error: it may be
// damaged.
func (g *Getter) Get(ctx context.Context) (*Result, error) {
	path, err := heic.Path()
	if err != nil {
		return nil, err
	}
	b, err := readDecoder(path)
	switch {
	case err == nil && hexDigest(b) == moduleDigest:
		return &Result{path, "present", moduleDigest}, nil
	case err == nil && g.Offline:
		return nil, fmt.Errorf("the decoder %s has the SHA-256 %s in place of %s: it is damaged or another one, and "+
			"fetching is off (offline): leave --offline out to replace it", path, hexDigest(b), moduleDigest)
	case err == nil:
		g.report("%s has the SHA-256 %s in place of %s: it is replaced", path, hexDigest(b), moduleDigest)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case g.Offline:
		return nil, fmt.Errorf("no decoder at %s, and fetching is off (offline)", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	way := cmp.Or(g.From, moduleURL)
	g.report("fetching the decoder for HEIC (libheif and libde265, %s) from %s", License, way)
	code, first := g.download(ctx, way, path+".gz")
	if first != nil && g.From == "" && ctx.Err() == nil {
		g.report("%v", first)
		way = module
		code, err = g.fromModule(ctx)
	} else {
		err = first
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("the decoder was not fetched: %w; to provide it yourself, unpack %s to %s", err,
			moduleURL,
			path)
	}
	if err := atomic.WriteFile(path, atomic.Bytes(code)); err != nil {
		return nil, err
	}
	return &Result{path, way, moduleDigest}, nil
}

func (g *Getter) report(format string, args ...any) {
	if g.Progress != nil {
		g.Progress(fmt.Sprintf(format, args...))
	}
}

// download fetches the compressed module from an address, by a file that is removed again.
func (g *Getter) download(ctx context.Context, from, file string) (code []byte, err error) {
	f := download.File{URL: from, Path: file, MaxBytes: maxModule, IsUserURL: g.From != "",
		Check: func(path string) error {
			code, err = unpack(path)
			return err
		}}
	if err := g.Client.Get(ctx, f); err != nil {
		return nil, err
	}
	return code, os.Remove(file)
}

// fromModule takes the module from the cache of the go command, which fetches it if needed.
func (g *Getter) fromModule(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "kindred-decoder-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	g.report("trying go mod download %s", module)
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = dir
		// The digest is compared here, so the checksum database need not be asked.
		cmd.Env = append(os.Environ(), "GONOSUMDB=*", "GOFLAGS=-mod=mod")
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go %s: %w", args[0], err)
		}
		return bytes.TrimSpace(out), nil
	}
	if _, err := run("mod", "download", module); err != nil {
		return nil, err
	}
	cache, err := run("env", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	return unpack(filepath.Join(string(cache), filepath.FromSlash(module), filepath.FromSlash(moduleMember)))
}

// unpack reads the compressed module and checks it.
func unpack(path string) ([]byte, error) {
	b, err := fileinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: not a gzip file: %w", path, err)
	}
	code, err := budget.ReadAtMost("the decoder", z, maxModule)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if d := hexDigest(code); d != moduleDigest {
		return nil, fmt.Errorf("%s: another file: its content has the SHA-256 %s in place of %s", path, d, moduleDigest)
	}
	return code, nil
}

func hexDigest(b []byte) string {
	d := sha256.Sum256(b)
	return hex.EncodeToString(d[:])
}
