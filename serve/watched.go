package serve

import (
	"crypto/sha256"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/internal/base/regular"
)

// watched is what was read from files, and is read again when what is in one of them
// changes. Each look reads the files whole: size and time of a file say nothing where all
// files have one time, as in images and packages, and a link leads elsewhere.
type watched[T any] struct {
	paths []string
	most  int64 // bytes that one of the files may have
	load  func(files []look) (T, error)
	// strict takes what load returns even with an error, in place of what was there
	// before.
	strict bool
	log    *slog.Logger // nil: nothing is told

	mu     sync.Mutex
	value  T
	looked time.Time
	marks  []mark
	failed string // the error of the last load
}

// look is a file as a look finds it.
type look struct {
	text []byte
	err  error // why it could not be read
}

// mark tells what one look finds in a file from what another does.
type mark [sha256.Size]byte

// mostWatched bounds a file of keys, of a certificate or of a private key.
const mostWatched = 1 << 20

// lookAgain is how long a look at the files holds.
const lookAgain = time.Second

// read looks at the files.
func (w *watched[T]) read() (files []look, marks []mark) {
	for _, path := range w.paths {
		text, err := regular.ReadWithin(path, "a watched file", w.most)
		files = append(files, look{text, err})
		if err != nil {
			text = []byte("\x00" + err.Error()) // no file of those that are watched begins so
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

// logging follows the same files for another log. What w found already is not told again,
// unless it could not be read.
func (w *watched[T]) logging(log *slog.Logger) *watched[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	other := &watched[T]{paths: w.paths, most: w.most, load: w.load, strict: w.strict, log: log, value: w.value}
	if w.failed == "" {
		other.looked, other.marks = w.looked, w.marks
	}
	return other
}

// get returns what is in the files. If they can no longer be read it returns what was
// in them before, or if strict what load could make of them.
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

// tell logs what came of reading again, an error once.
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
		w.log.Error("a changed file cannot be read; only what can be read of it holds", "files", w.paths, "error", err)
	default:
		w.log.Error("a changed file cannot be read; what it was before holds", "files", w.paths, "error", err)
	}
}
