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
	log   *slog.Logger // nil before the server has it

	mu     sync.Mutex
	value  T
	looked time.Time
	marks  []mark
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

// get returns what is in the files, or was the last time that they could be read.
func (w *watched[T]) get() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.looked) < lookAgain {
		return w.value
	}
	w.looked = time.Now()
	marks := w.mark()
	same := true
	for i, m := range marks {
		same = same && m.size == w.marks[i].size && m.at.Equal(w.marks[i].at)
	}
	if same {
		return w.value
	}
	w.marks = marks
	v, err := w.load()
	if err == nil {
		w.value = v
	}
	if w.log != nil {
		if err != nil {
			w.log.Error("a changed file cannot be read; what it was before holds", "files", w.paths, "error", err)
		} else {
			w.log.Info("read again", "files", w.paths)
		}
	}
	return w.value
}
