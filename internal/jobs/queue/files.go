package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// Keep stores a file in the object store, where every worker finds it.
func (q *Queue) Keep(ctx context.Context, write func(io.Writer) error) (string, error) {
	f, err := os.CreateTemp("", "kindred-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	h := sha256.New()
	if err := write(io.MultiWriter(f, h)); err != nil {
		return "", err
	}
	name := hex.EncodeToString(h.Sum(nil))
	var info *jetstream.ObjectInfo
	err = persist(ctx, func(ctx context.Context) (err error) {
		info, err = q.objects.GetInfo(ctx, "file."+name)
		return err
	})
	if err == nil && time.Since(info.ModTime) < q.o.Keep/2 {
		return name, nil
	} else if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return "", err
	}
	return name, q.put(ctx, "file."+name, func(w io.Writer) error {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(w, f)
		return err
	})
}

// Open reads a file that was kept.
func (q *Queue) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if len(name) != 2*sha256.Size || strings.Trim(name, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("%.80q is not the name of a file: a SHA-256 in hexadecimal", name)
	}
	r, err := q.object(ctx, "file."+name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("the queue no longer keeps the file %s: start the command that submitted the job again",
			name)
	} else if err != nil {
		return nil, err
	}
	// The store's own digest is as easily replaced as the content.
	return &checked{r, sha256.New(), name, fmt.Errorf("the file %s has another content: somebody has changed it in "+
		"the queue", name)}, nil
}

// put stores an object, again from the start where a server went away.
func (q *Queue) put(ctx context.Context, name string, write func(io.Writer) error) error {
	return persist(ctx, func(ctx context.Context) error {
		r, w := io.Pipe()
		go func() { w.CloseWithError(write(w)) }()
		_, err := q.objects.Put(ctx, jetstream.ObjectMeta{Name: name}, r)
		r.CloseWithError(errors.New("the object store takes no more"))
		return q.orAbsent(ctx, "OBJ_"+q.o.Name, err)
	})
}

// object opens an object. Reading it compares it with the digest that it was stored
// with.
func (q *Queue) object(ctx context.Context, name string) (io.ReadCloser, error) {
	var r *object
	err := persist(ctx, func(request context.Context) error {
		info, err := q.objects.GetInfo(request, name)
		if err != nil {
			return err
		}
		// The time is that of reading it, too.
		ctx, cancel := context.WithTimeout(ctx, allowed(info))
		got, err := q.objects.Get(ctx, name)
		if err != nil {
			cancel()
			return err
		}
		r = &object{got, cancel}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// object is one that is being read.
type object struct {
	jetstream.ObjectResult
	cancel context.CancelFunc
}

func (o *object) Close() error {
	defer o.cancel()
	return o.ObjectResult.Close()
}

// allowed is how long reading an object may take: a minute and what a megabyte a
// second needs.
func allowed(info *jetstream.ObjectInfo) time.Duration {
	return time.Minute + time.Duration(info.Size/1e6)*time.Second
}

// whole reads an object that must fit into memory.
func (q *Queue) whole(ctx context.Context, name string) ([]byte, error) {
	var b []byte
	err := persist(ctx, func(request context.Context) error {
		info, err := q.objects.GetInfo(request, name)
		if err != nil {
			return err
		}
		if err := budget.Check("the result of a job", int64(min(info.Size, 1<<62))); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, allowed(info))
		defer cancel()
		b, err = q.objects.GetBytes(ctx, name)
		return err
	})
	return b, err
}

// drop removes an object that nothing names any more. What cannot be removed now
// goes when Options.Keep is over.
func (q *Queue) drop(ctx context.Context, name string) {
	if name != "" {
		_ = q.objects.Delete(ctx, name)
	}
}
