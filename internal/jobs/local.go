package jobs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// Local is a Runner in this process. It may be used by several goroutines.
type Local struct {
	Kinds Kinds
	// Parallel is the number of jobs at a time, 1 if it is not positive. A training run
	// uses all cores by itself.
	Parallel int
	// Dir, if set, is a folder that keeps results, checkpoints and files. It is made if it is
	// missing. Jobs with a result there are not done again, and interrupted jobs
	// go on. Only one process at a time may use it.
	Dir string
	// Done, if set, is called with each result as it arrives, one call at a time.
	Done func(i int, r Result)
	// Report, if set, is called with the progress of jobs, possibly by several goroutines.
	Report func(j Job, text string)
}

// Run does the jobs. The same job given twice is done once.
func (l *Local) Run(ctx context.Context, list []Job) ([]Result, error) {
	if l.Dir != "" {
		if err := os.MkdirAll(l.Dir, 0o777); err != nil {
			return nil, err
		}
		if err := atomic.Clean(l.Dir); err != nil {
			return nil, err
		}
	}
	places, order, err := uniqueJobs(list)
	if err != nil {
		return nil, err
	}
	all, errs := make([]Result, len(list)), make([]error, len(list))
	var mu sync.Mutex // guards Done
	var wg sync.WaitGroup
	room := make(chan struct{}, max(1, l.Parallel))
	for _, id := range order {
		room <- struct{}{}
		if ctx.Err() != nil {
			<-room
			break
		}
		wg.Go(func() {
			defer func() { <-room }()
			first := places[id][0]
			r, err := l.do(ctx, list[first])
			mu.Lock()
			defer mu.Unlock()
			for _, i := range places[id] {
				if all[i], errs[i] = r, err; err == nil && l.Done != nil {
					l.Done(i, r)
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil { // the error of a job has more information than that of the context
		return nil, cmp.Or(errors.Join(errs...), ctx.Err())
	}
	return all, errors.Join(errs...)
}

// Forget removes the results of jobs from Dir.
func (l *Local) Forget(_ context.Context, list []Job) error {
	if l.Dir == "" {
		return nil
	}
	for _, j := range list {
		if err := (atomic.Files{}).Remove(resultFolder(l.Dir).path(j)); err != nil {
			return err
		}
	}
	return nil
}

// uniqueJobs returns where each job stands in a list, by its name, and the names in
// the order of the list.
func uniqueJobs(list []Job) (places map[string][]int, order []string, err error) {
	places = make(map[string][]int, len(list))
	for i, j := range list {
		if err := j.Check(); err != nil {
			return nil, nil, err
		}
		id := j.ID()
		if places[id] == nil {
			order = append(order, id)
		}
		places[id] = append(places[id], i)
	}
	return places, order, nil
}

// do does a job, unless its result is stored.
func (l *Local) do(ctx context.Context, j Job) (Result, error) {
	t := &localTask{l, j, j.ID()}
	if l.Dir != "" {
		if out, err := resultFolder(l.Dir).Load(j); err != nil || out != nil {
			return Result{Output: out, Worker: "local", Cached: true}, err
		}
	}
	out, err := l.Kinds.Do(ctx, t)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, err
		}
		return Result{}, &FailedError{j, 1, err}
	}
	if l.Dir != "" {
		if err := resultFolder(l.Dir).Save(j, out); err != nil {
			return Result{}, err
		}
		if err := (atomic.Files{}).Remove(t.path(".checkpoint")); err != nil {
			return Result{}, err
		}
	}
	return Result{Output: out, Worker: "local"}, nil
}

// resultFolder is the Memory of a folder that has a file for each job, with the job's name.
type resultFolder string

func (dir resultFolder) path(j Job) string { return filepath.Join(string(dir), j.ID()+".result") }

func (dir resultFolder) Load(j Job) ([]byte, error) {
	out, err := fileinfo.ReadFile(dir.path(j))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return append([]byte{}, out...), nil // not nil, even if it is empty
}

func (dir resultFolder) Save(j Job, output []byte) error { return writeFile(dir.path(j), output) }

// Store stores a file in Dir.
func (l *Local) Store(_ context.Context, write func(io.Writer) error) (string, error) {
	if l.Dir == "" {
		return "", errors.New("jobs that need files need a folder for them")
	}
	if err := os.MkdirAll(l.Dir, 0o777); err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return "", err
	}
	sum := sha256.Sum256(b.Bytes())
	name := hex.EncodeToString(sum[:])
	return name, writeFile(filepath.Join(l.Dir, name), b.Bytes())
}

// Open reads a file that Keep has stored.
func (l *Local) Open(_ context.Context, name string) (io.ReadCloser, error) {
	if len(name) != 2*sha256.Size || strings.Trim(name, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("%.80q is not the name of a file: want a SHA-256 in hexadecimal", name)
	}
	b, err := fileinfo.ReadFile(filepath.Join(l.Dir, name))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("%s is damaged: remove it", filepath.Join(l.Dir, name))
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// localTask is a job that runs in this process.
type localTask struct {
	l   *Local
	job Job
	id  string
}

func (t *localTask) path(end string) string { return filepath.Join(t.l.Dir, t.id+end) }

func (t *localTask) Job() Job { return t.job }

func (t *localTask) Report(text string) {
	if t.l.Report != nil {
		t.l.Report(t.job, text)
	}
}

// Save does nothing without a folder, because the job ends with this process.
func (t *localTask) Save(_ context.Context, write func(io.Writer) error) error {
	if t.l.Dir == "" {
		return nil
	}
	return atomic.WriteFile(t.path(".checkpoint"), write)
}

func (t *localTask) Restore(context.Context) (io.ReadCloser, error) {
	if t.l.Dir == "" {
		return nil, nil
	}
	f, err := fileinfo.Open(t.path(".checkpoint"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return f, nil
}

func (t *localTask) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return t.l.Open(ctx, name)
}

func writeFile(path string, b []byte) error {
	return atomic.WriteFile(path, atomic.Bytes(b))
}
