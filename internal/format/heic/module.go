package heic

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/internal/format/wasm"
)

// EnvHome is the environment variable that names the folder of decoders.
const EnvHome = "KINDRED_DECODERS"

// File is the name of the decoder's file.
const File = "heif.wasm"

// Path returns where the decoder is looked for: in $KINDRED_DECODERS, else in kindred/decoders in the user's cache
// folder.
func Path() (string, error) {
	dir, err := home.Folder("decoders", "", EnvHome)
	if err != nil {
		return "", fmt.Errorf("no folder for decoders: %w; set $%s", err, EnvHome)
	}
	return filepath.Join(dir, File), nil
}

// ErrMissing is the error without a decoder.
var ErrMissing = errors.New("no decoder for HEIC: 'kindred formats get heic' fetches one; or convert the file to JPEG")

// IsInstalled reports whether there is a decoder.
func IsInstalled() bool {
	path, err := Path()
	if err != nil {
		return false
	}
	_, err = os.Stat(path)
	return err == nil
}

// decoderCache is the decoder, once it was found.
var decoderCache struct {
	sync.Mutex
	path   string
	module *wasm.Module
}

// load returns the decoder. A decoder that is missing may come later, while the program runs.
func load() (*wasm.Module, error) {
	path, err := Path()
	if err != nil {
		return nil, err
	}
	decoderCache.Lock()
	defer decoderCache.Unlock()
	if decoderCache.module != nil && decoderCache.path == path {
		return decoderCache.module, nil
	}
	f, size, err := fileinfo.OpenSized(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMissing
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", wasm.ErrDecoder, err)
	}
	defer f.Close()
	code, err := budget.ReadN("the decoder", f, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", wasm.ErrDecoder, path, err)
	}
	m, err := wasm.Compile(code)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; remove it and fetch it again", wasm.ErrDecoder, path, err)
	}
	decoderCache.path, decoderCache.module = path, m // an earlier one may still be in use
	return m, nil
}
