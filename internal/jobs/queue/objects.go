package queue

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// Objects stand in the store as its client writes them, but their chunks are written and read
// here, one after the other and by requests to the leader of the stream. The client reads them by
// a consumer, which may be on a server that is behind: it gave the beginning of an object for the
// whole. And it writes many at a time, and those again that nobody heard: behind others, and with
// the content of the last.

// chunkSize is how long the chunks of an object are, but for the last.
const chunkSize = 128 << 10

// late is how long a chunk may be unknown to the servers before it counts as lost: one that has
// just come to lead the others may have it to come.
const late = 5 * time.Second

// errDamaged: an object has another content than the one that was stored, or not all of it.
var errDamaged = errors.New("what the queue has stored is damaged, part of it is lost or has changed: start the " +
	"command that submitted the job again, and if that does not help, remove the job by 'kindred jobs remove'")

// lost tells that an object is not what was stored, and will not be again.
func lost(err error) bool {
	return errors.Is(err, jetstream.ErrObjectNotFound) || errors.Is(err, errDamaged)
}

// chunks is the subject of an object's chunks.
func (q *Queue) chunks(id string) string { return "$O." + q.o.Name + ".C." + id }

// put stores an object, again from the start where a server went away. What an object of that
// name had before stays until Options.Keep is over: somebody may be reading it.
func (q *Queue) put(ctx context.Context, name string, write func(io.Writer) error) error {
	return persist(ctx, func(ctx context.Context) error {
		r, w := io.Pipe()
		written := make(chan struct{})
		go func() {
			defer close(written)
			w.CloseWithError(write(w))
		}()
		defer func() {
			r.CloseWithError(errors.New("the object store takes no more"))
			<-written // it reads what the next attempt begins at again
		}()
		info := jetstream.ObjectInfo{Bucket: q.o.Name, NUID: rand.Text(), ObjectMeta: jetstream.ObjectMeta{Name: name,
			Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}}}
		sum := sha256.New()
		if err := q.putChunks(ctx, r, sum, &info); err != nil {
			_ = q.stored.Purge(ctx, jetstream.WithPurgeSubject(q.chunks(info.NUID)))
			return q.orAbsent(ctx, "OBJ_"+q.o.Name, err)
		}
		info.Digest = jetstream.GetObjectDigestValue(sum)
		text, err := json.Marshal(&info)
		if err != nil {
			return err
		}
		m := nats.NewMsg("$O." + q.o.Name + ".M." + base64.URLEncoding.EncodeToString([]byte(name)))
		m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
		m.Data = text
		_, err = q.js.PublishMsg(ctx, m)
		return q.orAbsent(ctx, "OBJ_"+q.o.Name, err)
	})
}

// putChunks stores what r has, adds it to sum, and notes its length in info.
func (q *Queue) putChunks(ctx context.Context, r io.Reader, sum hash.Hash, info *jetstream.ObjectInfo) error {
	chunk := make([]byte, chunkSize)
	for {
		n, err := io.ReadFull(r, chunk)
		if n > 0 {
			sum.Write(chunk[:n])
			if _, err := q.js.Publish(ctx, q.chunks(info.NUID), chunk[:n]); err != nil {
				return err
			}
			info.Chunks++
			info.Size += uint64(n)
		}
		switch {
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// object opens an object. Reading it compares it with the digest that it was stored with.
func (q *Queue) object(ctx context.Context, name string) (*object, error) {
	var info *jetstream.ObjectInfo
	err := persist(ctx, func(ctx context.Context) (err error) {
		info, err = q.objects.GetInfo(ctx, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &object{ctx: ctx, q: q, info: info, left: info.Chunks, size: info.Size, sum: sha256.New()}, nil
}

// object is one that is being read.
type object struct {
	ctx  context.Context
	q    *Queue
	info *jetstream.ObjectInfo
	left uint32 // chunks to come
	size uint64 // their bytes
	last uint64 // place of the last chunk in the stream
	have []byte // what is left of it
	sum  hash.Hash
}

func (o *object) Read(b []byte) (int, error) {
	for len(o.have) == 0 {
		if o.left == 0 {
			if jetstream.GetObjectDigestValue(o.sum) != o.info.Digest {
				return 0, errDamaged
			}
			return 0, io.EOF
		}
		if err := o.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, o.have)
	o.have = o.have[n:]
	return n, nil
}

// next reads a chunk.
func (o *object) next() error {
	var m *jetstream.RawStreamMsg
	var since time.Time // it has been unknown
	err := persist(o.ctx, func(ctx context.Context) (err error) {
		for {
			m, err = o.q.stored.GetMsg(ctx, o.last+1, jetstream.WithGetMsgSubject(o.q.chunks(o.info.NUID)))
			if !errors.Is(err, jetstream.ErrMsgNotFound) {
				return err
			}
			if since.IsZero() {
				since = time.Now()
			} else if time.Since(since) >= late {
				return errDamaged
			}
			if !pause(ctx, 100*time.Millisecond) {
				return ctx.Err()
			}
		}
	})
	if err != nil {
		return err
	}
	if n := uint64(len(m.Data)); n == 0 || n > o.size {
		return errDamaged
	}
	o.size -= uint64(len(m.Data))
	o.left, o.last, o.have = o.left-1, m.Sequence, m.Data
	o.sum.Write(m.Data)
	return nil
}

func (o *object) Close() error { return nil }

// whole reads an object that must fit into memory.
func (q *Queue) whole(ctx context.Context, name string) ([]byte, error) {
	o, err := q.object(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := budget.Check("the result of a job", int64(min(o.info.Size, 1<<62))); err != nil {
		return nil, err
	}
	return io.ReadAll(o)
}

// drop removes an object that nothing names any more. What cannot be removed now
// goes when Options.Keep is over.
func (q *Queue) drop(ctx context.Context, name string) {
	if name != "" {
		_ = q.objects.Delete(ctx, name)
	}
}
