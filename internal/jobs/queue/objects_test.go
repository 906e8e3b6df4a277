package queue

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/kindred-ml/kindred/internal/test/queuetest"
)

// noise are bytes of which no two chunks are the same.
func noise(seed byte, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// keep is Keep of bytes.
func keep(t *testing.T, q *Queue, b []byte) (name string) {
	t.Helper()
	name, err := q.Store(t.Context(), func(w io.Writer) error { _, err := w.Write(b); return err })
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// describe stores what says of an object that it has these chunks, and nothing of them.
func describe(t *testing.T, q *Queue, name, id string, content []byte, chunks uint32, size int) {
	t.Helper()
	sum := sha256.New()
	sum.Write(content)
	text, err := json.Marshal(jetstream.ObjectInfo{Bucket: "kindred", NUID: id, Size: uint64(size), Chunks: chunks,
		Digest: jetstream.GetObjectDigestValue(sum), ObjectMeta: jetstream.ObjectMeta{Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	subject := "$O.kindred.M." + base64.URLEncoding.EncodeToString([]byte(name))
	if _, err := q.js.Publish(t.Context(), subject, text); err != nil {
		t.Fatal(err)
	}
}

// A server that is behind knows of an object before it has all of its chunks. Who reads waits
// for them: the beginning is not taken for the whole.
func TestBehind(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	content := noise(1, 3*1000)
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:])
	chunk := func(i int) {
		if _, err := q.js.Publish(t.Context(), "$O.kindred.C.here", content[1000*i:][:1000]); err != nil {
			t.Error(err)
		}
	}
	chunk(0)
	describe(t, q, "file."+name, "here", content, 3, len(content))
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for i := 1; i < 3; i++ {
			time.Sleep(300 * time.Millisecond)
			chunk(i)
		}
	})
	if have, err := readAll(q.Open(t.Context(), name)); err != nil || have != string(content) {
		t.Errorf("%d of %d bytes, %v", len(have), len(content), err)
	}
}

// Of a chunk that no server has any more, of one too many and of an empty one an error tells.
func TestDamagedObject(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	for name, c := range map[string]struct {
		chunks uint32
		size   int
	}{"lost": {2, 2000}, "long": {1, 10}, "other": {1, 1000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			describe(t, q, name, name, []byte("something else"), c.chunks, c.size)
			if _, err := q.js.Publish(t.Context(), q.chunks(name), noise(2, 1000)); err != nil {
				t.Fatal(err)
			}
			if b, err := q.readObject(t.Context(), name); !errors.Is(err, errDamaged) || !isLost(err) || len(b) > 1000 {
				t.Errorf("%d bytes, %v", len(b), err)
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		describe(t, q, "empty", "empty", nil, 1<<31, 0)
		if _, err := q.js.Publish(t.Context(), q.chunks("empty"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := q.readObject(t.Context(), "empty"); !errors.Is(err, errDamaged) {
			t.Error(err)
		}
	})
}

// A file of which a part is lost, or that somebody has changed, is stored anew by who keeps it again.
func TestKeptAgain(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	content := noise(6, chunkSize+1)
	name := keep(t, q, content)
	id := func() string {
		t.Helper()
		info, err := q.objects.GetInfo(t.Context(), "file."+name)
		if err != nil {
			t.Fatal(err)
		}
		return info.NUID
	}
	was := id()
	if keep(t, q, content); id() != was {
		t.Error("a whole one was stored again")
	}
	for how, damage := range map[string]func() error{
		"lost": func() error { return q.stored.Purge(t.Context(), jetstream.WithPurgeSubject(q.chunks(was))) },
		"changed": func() error {
			_, err := q.objects.PutString(t.Context(), "file."+name, "something else")
			return err
		},
	} {
		was = id()
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if have, err := readAll(q.Open(t.Context(), name)); err == nil {
			t.Errorf("%s: %d bytes, and no error", how, len(have))
		}
		if again := keep(t, q, content); again != name {
			t.Errorf("%s: %s is now %s", how, name, again)
		}
		if have, err := readAll(q.Open(t.Context(), name)); err != nil || have != string(content) {
			t.Errorf("%s: %d of %d bytes, %v", how, len(have), len(content), err)
		}
	}
}

// What one has begun to read stays what it is when something else gets its name.
func TestReplacedObject(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	put := func(b []byte) {
		t.Helper()
		if err := q.put(t.Context(), "x", func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 3*chunkSize + 7} {
		one, two := noise(3, n), noise(4, n+1)
		put(one)
		r, err := q.openObject(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		begun := make([]byte, n/3)
		if _, err := io.ReadFull(r, begun); err != nil {
			t.Fatal(err)
		}
		put(two)
		rest, err := io.ReadAll(r)
		if have := append(begun, rest...); err != nil || !bytes.Equal(have, one) {
			t.Errorf("%d of %d bytes, %v", len(have), len(one), err)
		}
		if have, err := q.readObject(t.Context(), "x"); err != nil || !bytes.Equal(have, two) {
			t.Errorf("%d of %d bytes, %v", len(have), len(two), err)
		}
		// The store's own client reads it as well.
		if have, err := q.objects.GetBytes(t.Context(), "x"); err != nil || !bytes.Equal(have, two) {
			t.Errorf("%d of %d bytes, %v", len(have), len(two), err)
		}
	}
}

// A chunk that no server took is written again before the next one.
func TestUnheardChunk(t *testing.T) {
	for _, nth := range []int32{1, 3, 5} {
		u, unheard := unheard(t, serve(t), "$O.kindred.C.", nth)
		q := connect(t, Options{URL: u})
		content := noise(5, 4*chunkSize+1)
		if have, err := readAll(q.Open(t.Context(), keep(t, q, content))); err != nil || have != string(content) {
			t.Errorf("chunk %d: %d of %d bytes, %v", nth, len(have), len(content), err)
		}
		if unheard() < nth {
			t.Errorf("chunk %d was heard", nth)
		}
	}
}

// Three servers give what one client has just stored to another one as it was, however far
// each of them is.
func TestJustStored(t *testing.T) {
	if testing.Short() {
		t.Skip("stores and reads for ten seconds")
	}
	url := queuetest.Cluster(t).URL
	writer, reader := connect(t, Options{URL: url}), connect(t, Options{URL: url})
	var wg sync.WaitGroup
	for g := range byte(4) {
		wg.Go(func() {
			for i := range byte(40) {
				content := noise(10+40*g+i, 600_000)
				write := func(w io.Writer) error { _, err := w.Write(content); return err }
				name, err := writer.Store(t.Context(), write)
				if err != nil {
					t.Error(err)
					return
				}
				if have, err := readAll(reader.Open(t.Context(), name)); err != nil || have != string(content) {
					t.Errorf("%d of %d bytes, %v", len(have), len(content), err)
				}
			}
		})
	}
	wg.Wait()
}
