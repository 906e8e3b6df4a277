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

// Objects have the format of the store's client, but this package writes and reads their chunks itself, one
// after the other, by requests to the leader of the stream. The client reads chunks through a consumer, which
// may be on a server that lags behind, and so returned only the beginning of an object. It also writes many chunks
// at a time and repeats unacknowledged ones later, after other chunks and with the content of the last
// one.

// chunkSize is the size of an object's chunks, except the last.
const chunkSize = 128 << 10

// chunkTimeout is how long a chunk may be unknown to the servers before it counts as lost: a server that has
// just become the leader may receive it later.
const chunkTimeout = 5 * time.Second

// errDamaged is the error for an object whose content has changed or is incomplete.
var errDamaged = errors.New("what the queue has stored is damaged, part of it is lost or has changed: start the " +
	"command that submitted the job again, and if that does not help, remove the job by 'kindred jobs remove'")

// isLost reports whether an object is damaged or missing for good.
func isLost(err error) bool {
	return errors.Is(err, jetstream.ErrObjectNotFound) || errors.Is(err, errDamaged)
}

// chunks returns the subject of an object's chunks.
func (q *Queue) chunks(id string) string { return "$O." + q.o.Name + ".C." + id }

// put stores an object, and starts again if a server goes away. The old content of an object with that name
// stays until Options.Keep has passed, as it may be being read.
func (q *Queue) put(ctx context.Context, name string, write func(io.Writer) error) error {
	return retry(ctx, func(ctx context.Context) error {
		r, w := io.Pipe()
		written := make(chan struct{})
		go func() {
			defer close(written)
			w.CloseWithError(write(w))
		}()
		defer func() {
			r.CloseWithError(errors.New("the object store is full"))
			<-written // wait, because it reads from r, which the next attempt rewinds
		}()
		info := jetstream.ObjectInfo{Bucket: q.o.Name, NUID: rand.Text(), ObjectMeta: jetstream.ObjectMeta{Name: name,
			Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}}}
		sum := sha256.New()
		if err := q.putChunks(ctx, r, sum, &info); err != nil {
			_ = q.stored.Purge(ctx, jetstream.WithPurgeSubject(q.chunks(info.NUID)))
			return q.orAbsentError(ctx, "OBJ_"+q.o.Name, err)
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
		return q.orAbsentError(ctx, "OBJ_"+q.o.Name, err)
	})
}

// putChunks stores the data of r, adds it to sum, and records its length in info.
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

// openObject opens an object. Reading it checks its digest.
func (q *Queue) openObject(ctx context.Context, name string) (*object, error) {
	var info *jetstream.ObjectInfo
	err := retry(ctx, func(ctx context.Context) (err error) {
		info, err = q.objects.GetInfo(ctx, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &object{ctx: ctx, q: q, info: info, left: info.Chunks, size: info.Size, sum: sha256.New()}, nil
}

// object is an object being read.
type object struct {
	ctx  context.Context
	q    *Queue
	info *jetstream.ObjectInfo
	left uint32 // number of chunks still to read
	size uint64 // bytes still to read
	last uint64 // position of the last chunk in the stream
	have []byte // unread bytes of the last chunk
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
	var since time.Time // time since when the chunk is unknown
	err := retry(o.ctx, func(ctx context.Context) (err error) {
		for {
			m, err = o.q.stored.GetMsg(ctx, o.last+1, jetstream.WithGetMsgSubject(o.q.chunks(o.info.NUID)))
			if !errors.Is(err, jetstream.ErrMsgNotFound) {
				return err
			}
			if since.IsZero() {
				since = time.Now()
			} else if time.Since(since) >= chunkTimeout {
				return errDamaged
			}
			if !sleep(ctx, 100*time.Millisecond) {
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

// readObject reads an object that must fit into memory.
func (q *Queue) readObject(ctx context.Context, name string) ([]byte, error) {
	o, err := q.openObject(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := budget.Check("the result of a job", int64(min(o.info.Size, 1<<62))); err != nil {
		return nil, err
	}
	return io.ReadAll(o)
}

// removeObject removes an object that is not used any more. If that fails, the object is removed when Options.Keep
// has passed.
func (q *Queue) removeObject(ctx context.Context, name string) {
	if name != "" {
		_ = q.objects.Delete(ctx, name)
	}
}
