package serve

import (
	"crypto/sha256"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// watchedFiles is a value read from files. It is read again when the contents of a file change. Each look reads
// the whole files, because size and time are not reliable: in container images and packages all files have
// one time, and a link may change its target.
type watchedFiles[T any] struct {
	paths    []string
	maxBytes int64 // most bytes of one file
	load     func(files []fileContent) (T, error)
	// strict uses the value of load even if it has an error, instead of the earlier
	// value.
	strict bool
	log    *slog.Logger // nil: no log

	mu       sync.Mutex
	value    T
	lastLook time.Time
	marks    []contentDigest
	failed   string // the error of the last load
}

// fileContent is the state of a file at a look.
type fileContent struct {
	text []byte
	err  error // reason why it could not be read
}

// contentDigest is a digest of a file's contents, to notice changes.
type contentDigest [sha256.Size]byte

// maxWatchedBytes bounds a file of keys, of a certificate or of a private key.
const maxWatchedBytes = 1 << 20

// watchInterval is the time between two looks at the files.
const watchInterval = time.Second

// read looks at the files.
func (w *watchedFiles[T]) read() (files []fileContent, marks []contentDigest) {
	for _, path := range w.paths {
		text, err := fileinfo.ReadAtMost(path, "a watched file", w.maxBytes)
		files = append(files, fileContent{text, err})
		if err != nil {
			text = []byte("\x00" + err.Error()) // no watched file begins like this
		}
		marks = append(marks, sha256.Sum256(text))
	}
	return files, marks
}

func (w *watchedFiles[T]) open() error {
	w.lastLook = time.Now()
	var files []fileContent
	files, w.marks = w.read()
	var err error
	w.value, err = w.load(files)
	return err
}

// withLog follows the same files with another log. Errors that w has already logged are not logged
// again, unless a file could not be read.
func (w *watchedFiles[T]) withLog(log *slog.Logger) *watchedFiles[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	other := &watchedFiles[T]{paths: w.paths, maxBytes: w.maxBytes, load: w.load, strict: w.strict, log: log,
		value: w.value}
	if w.failed == "" {
		other.lastLook, other.marks = w.lastLook, w.marks
	}
	return other
}

// get returns the value of the files. If they can no longer be read, it returns the earlier value or,
// if strict, the value of load.
func (w *watchedFiles[T]) get() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.lastLook) < watchInterval {
		return w.value
	}
	w.lastLook = time.Now()
	files, marks := w.read()
	if slices.Equal(marks, w.marks) {
		return w.value
	}
	w.marks = marks
	v, err := w.load(files)
	if err == nil || w.strict {
		w.value = v
	}
	w.logResult(err)
	return w.value
}

// logResult logs the result of reading again; it logs an error only once.
func (w *watchedFiles[T]) logResult(err error) {
	before := w.failed
	w.failed = ""
	if err != nil {
		w.failed = err.Error()
	}
	switch {
	case w.log == nil || err != nil && w.failed == before:
	case err == nil:
		w.log.Info("read again", "files", w.paths)
	case w.strict:
		w.log.Error("a changed file cannot be read completely; its valid part is used", "files", w.paths, "error", err)
	default:
		w.log.Error("a changed file cannot be read; its earlier contents stay in use", "files", w.paths, "error", err)
	}
}
