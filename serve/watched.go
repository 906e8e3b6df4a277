package serve

import (
	"log/slog"
	"os"
	"sync"
	"time"
)

// watched is what was read from files, and is read again when one of them changes.
type watched[T any] struct {
	paths []string
	load  func() (T, error)
	// strict takes what load returns even with an error, in place of what was there
	// before.
	strict bool
	log    *slog.Logger // nil before the server has it

	mu     sync.Mutex
	value  T
	looked time.Time
	marks  []mark
	failed string // the error of the last load
}

// mark tells one state of a file from another.
type mark struct {
	size int64
	at   time.Time
}

// lookAgain is how long a look at the files holds.
const lookAgain = time.Second

func (w *watched[T]) mark() []mark {
	out := make([]mark, len(w.paths))
	for i, path := range w.paths {
		if info, err := os.Stat(path); err == nil {
			out[i] = mark{info.Size(), info.ModTime()}
		}
	}
	return out
}

func (w *watched[T]) open() error {
	w.marks, w.looked = w.mark(), time.Now()
	var err error
	w.value, err = w.load()
	return err
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
	marks := w.mark()
	same := w.failed == "" // what failed is tried again
	for i, m := range marks {
		same = same && m.size == w.marks[i].size && m.at.Equal(w.marks[i].at)
	}
	if same {
		return w.value
	}
	w.marks = marks
	v, err := w.load()
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
