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
)

// Store stores a file in the object store, where every worker finds it.
func (q *Queue) Store(ctx context.Context, write func(io.Writer) error) (string, error) {
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
	o, err := q.openObject(ctx, "file."+name)
	if err == nil && time.Since(o.info.ModTime) < q.o.Keep/2 {
		h.Reset() // a damaged or changed file is stored again
		if _, err = io.Copy(h, o); err == nil && hex.EncodeToString(h.Sum(nil)) == name {
			return name, nil
		}
	}
	if err != nil && !isLost(err) {
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
		return nil, fmt.Errorf("%.80q is not the name of a file: want a SHA-256 in hexadecimal", name)
	}
	r, err := q.openObject(ctx, "file."+name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("the queue no longer keeps the file %s: start the command that submitted the job again",
			name)
	} else if err != nil {
		return nil, err
	}
	// Whoever can replace the content can also replace the store's own digest.
	return &digestReader{r, sha256.New(), name, fmt.Errorf("the file %s has another content, as it was changed in "+
		"the queue", name)}, nil
}
