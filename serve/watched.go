package serve

import (
	"crypto/sha256"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// watched is a value read from files. It is read again when the contents of a file change. Each look reads
// the whole files, because size and time are not reliable: in container images and packages all files have
// one time, and a link may change its target.
type watched[T any] struct {
	paths []string
	most  int64 // most bytes of one file
	load  func(files []look) (T, error)
	// strict uses the value of load even if it has an error, instead of the earlier
	// value.
	strict bool
	log    *slog.Logger // nil: no log

	mu     sync.Mutex
	value  T
	looked time.Time
	marks  []mark
	failed string // the error of the last load
}

// look is the state of a file at a look.
type look struct {
	text []byte
	err  error // reason why it could not be read
}

// mark is a digest of a file's contents, to notice changes.
type mark [sha256.Size]byte

// mostWatched bounds a file of keys, of a certificate or of a private key.
const mostWatched = 1 << 20

// lookAgain is the time between two looks at the files.
const lookAgain = time.Second

// read looks at the files.
func (w *watched[T]) read() (files []look, marks []mark) {
	for _, path := range w.paths {
		text, err := fileinfo.ReadAtMost(path, "a watched file", w.most)
		files = append(files, look{text, err})
		if err != nil {
			text = []byte("\x00" + err.Error()) // no watched file begins like this
		}
		marks = append(marks, sha256.Sum256(text))
	}
	return files, marks
}

func (w *watched[T]) open() error {
	w.looked = time.Now()
	var files []look
	files, w.marks = w.read()
	var err error
	w.value, err = w.load(files)
	return err
}

// logging follows the same files with another log. Errors that w has already logged are not logged
// again, unless a file could not be read.
func (w *watched[T]) logging(log *slog.Logger) *watched[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	other := &watched[T]{paths: w.paths, most: w.most, load: w.load, strict: w.strict, log: log, value: w.value}
	if w.failed == "" {
		other.looked, other.marks = w.looked, w.marks
	}
	return other
}

// get returns the value of the files. If they can no longer be read, it returns the earlier value or,
// if strict, the value of load.
func (w *watched[T]) get() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.looked) < lookAgain {
		return w.value
	}
	w.looked = time.Now()
	files, marks := w.read()
	if slices.Equal(marks, w.marks) {
		return w.value
	}
	w.marks = marks
	v, err := w.load(files)
	if err == nil || w.strict {
		w.value = v
	}
	w.tell(err)
	return w.value
}

// tell logs the result of reading again; it logs an error only once.
func (w *watched[T]) tell(err error) {
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
