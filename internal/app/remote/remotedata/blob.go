package remotedata

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/budget"
)

// blob is a file elsewhere.
type blob struct {
	name   string       // its address, for messages
	size   int64        // -1: not known
	most   int64        // that is read whole; 0: what fits into the memory
	etag   string       // without quotes; "": none that tells contents apart
	state  contentState // of the file when it was listed
	ranges bool
	// get asks for n bytes from an offset, or for all with n < 0, once. It returns
	// the MD5 of the whole in hexadecimal, where the server tells it.
	get func(ctx context.Context, b *blob, from, n int64) (body io.ReadCloser, md5 string, err error)
}

// permanentError is an error that another attempt would not change.
type permanentError struct{ error }

func (l permanentError) Unwrap() error { return l.error }

// fileError is an error of one file, which says nothing of others at the same place.
type fileError struct{ error }

func (o fileError) Unwrap() error { return o.error }

// errChanged is why files are not read on.
var errChanged = errors.New("it has changed since it was listed: start the command again")

// contentState is what tells one content of a file from another.
type contentState struct {
	etag     string // also a weak one; without quotes
	modified string // Last-Modified
}

// stateFromHeader takes the state from the header of an answer.
func stateFromHeader(h http.Header) contentState {
	return contentState{strings.Trim(strings.TrimPrefix(h.Get("ETag"), "W/"), `"`), h.Get("Last-Modified")}
}

// isSame tells whether an answer is of the file in the state s. Servers that know nothing
// of If-Match give what they have.
func (s contentState) isSame(now contentState) bool {
	if s.etag != "" && now.etag != "" {
		return s.etag == now.etag
	}
	return s.modified == "" || now.modified == "" || s.modified == now.modified
}

// check compares the header of an answer with what is known of the file, and its range
// with the n bytes from an offset that were asked for; n < 0 asks for all.
func (b *blob) check(h http.Header, from, n int64) error {
	if !b.state.isSame(stateFromHeader(h)) {
		return permanentError{errChanged}
	}
	if n < 0 {
		return nil
	}
	text := h.Get("Content-Range")
	r, ok := parseContentRange(text)
	switch {
	case !ok || r.first != from || r.last != from+n-1:
		return fmt.Errorf("the server answers with the range %.80q instead of the bytes %d to %d", text, from,
			from+n-1)
	case r.total >= 0 && b.size >= 0 && r.total != b.size:
		return permanentError{errChanged}
	}
	return nil
}

// contentRange is the range of an answer, of a file of total bytes; -1: not said.
type contentRange struct{ first, last, total int64 }

// parseContentRange reads "bytes 100-999/1000" and "bytes 100-999/*" (RFC 9110, section
// 14.4).
func parseContentRange(text string) (contentRange, bool) {
	unit, text, _ := strings.Cut(text, " ")
	span, whole, ok := strings.Cut(text, "/")
	low, high, ok2 := strings.Cut(span, "-")
	if !ok || !ok2 || !strings.EqualFold(unit, "bytes") {
		return contentRange{}, false
	}
	r := contentRange{total: -1}
	for _, v := range []struct {
		text string
		to   *int64
	}{{low, &r.first}, {high, &r.last}, {whole, &r.total}} {
		if v.text == "*" && v.to == &r.total {
			continue
		}
		n, err := strconv.ParseUint(v.text, 10, 63)
		if err != nil {
			return contentRange{}, false
		}
		*v.to = int64(n)
	}
	return r, r.first <= r.last && (r.total < 0 || r.last < r.total)
}

// tries is how often a part is asked for, with a pause that doubles from firstPause;
// stall bounds a whole answer, with a second for every 100 KB.
const (
	maxTries     = 5
	firstPause   = 200 * time.Millisecond
	stallTimeout = 30 * time.Second
)

// readAll reads the blob.
func (b *blob) readAll(ctx context.Context) ([]byte, error) {
	if b.most > 0 && b.size > b.most {
		return nil, b.tooLarge()
	}
	if b.size >= 0 {
		if err := budget.Check(b.name, b.size); err != nil {
			return nil, err
		}
	}
	return b.read(ctx, 0, -1)
}

// tooLarge is the error of a text that takes more than its part of the memory.
func (b *blob) tooLarge() error {
	return &budget.Error{What: fmt.Sprintf("%s: a list of more than %s, in memory", b.name, budget.Format(b.most)),
		Limit: budget.Limit()}
}

// read reads n bytes from an offset, or all with n < 0, in as many attempts as it
// takes.
func (b *blob) read(ctx context.Context, from, n int64) ([]byte, error) {
	for k, wait := 1, firstPause; ; k, wait = k+1, 2*wait {
		content, err := b.readOnce(ctx, from, n)
		var last permanentError
		if err == nil || k == maxTries || errors.As(err, &last) || ctx.Err() != nil {
			if err != nil {
				err = b.completeError(ctx, err)
			}
			return content, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// completeError completes an error. But for what the server says of this one file, it is that
// of the source.
func (b *blob) completeError(ctx context.Context, err error) error {
	var one fileError
	alone := errors.As(err, &one) || ctx.Err() != nil
	if over := (*budget.Error)(nil); errors.As(err, &over) {
		alone = true
	}
	err = fmt.Errorf("%s: %w", b.name, err)
	if alone {
		return err
	}
	return &data.SourceError{Err: err}
}

func (b *blob) readOnce(ctx context.Context, from, n int64) ([]byte, error) {
	want := n
	if n < 0 {
		want = b.size
	}
	ctx, cancel := context.WithTimeout(ctx, stallTimeout+time.Duration(max(0, want)/100_000)*time.Second)
	defer cancel()
	body, sum, err := b.get(ctx, b, from, n)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if want < 0 {
		if b.most > 0 {
			body = struct {
				io.Reader
				io.Closer
			}{io.LimitReader(body, b.most+1), body}
		}
		content, err := budget.ReadAll(b.name, body)
		if b.most > 0 && int64(len(content)) > b.most {
			return nil, permanentError{b.tooLarge()}
		}
		if over := (*budget.Error)(nil); errors.As(err, &over) {
			err = permanentError{err}
		}
		return content, err
	}
	content, err := budget.ReadN(b.name, body, want)
	if err != nil {
		return nil, fmt.Errorf("the transfer broke off: %w", err)
	}
	if n < 0 { // a server need not announce how much there is by now
		switch more, err := io.ReadFull(body, make([]byte, 1)); {
		case more > 0:
			return nil, permanentError{errChanged}
		case !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("the transfer broke off: %w", err)
		}
	}
	if got := md5.Sum(content); n < 0 && sum != "" && hex.EncodeToString(got[:]) != sum {
		return nil, fileError{fmt.Errorf("the received data have the MD5 %x instead of %s", got, sum)}
	}
	return content, nil
}

// isLikeMD5 tells ETags that may be the content's MD5.
func isLikeMD5(etag string) bool {
	return len(etag) == 2*md5.Size && strings.Trim(etag, "0123456789abcdef") == ""
}

// blockReader reads ranges of a blob in blocks; a pool keeps some of them.
type blockReader struct {
	ctx  context.Context // ends all reads, as the interface passes none
	b    *blob
	pool *blockCache
}

const (
	blockBytes = 1 << 20
	maxBlocks  = 32
)

// blockCache keeps the last blocks of all files that share it.
type blockCache struct {
	mu     sync.Mutex
	blocks map[blockKey]*block
	order  []blockKey // in which they came
}

// blockKey is the k-th block of a blob.
type blockKey struct {
	b *blob
	k int64
}

// block is asked for once, however many wait for it.
type block struct {
	once sync.Once
	b    []byte
	err  error
}

// ReadAt reads from as many blocks as it takes.
func (w *blockReader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("%s: read at %d", w.b.name, off)
	}
	done := 0
	for done < len(p) {
		at := off + int64(done)
		if at >= w.b.size {
			return done, io.EOF
		}
		block, err := w.pool.get(w.ctx, w.b, at/blockBytes)
		if err != nil {
			return done, err
		}
		done += copy(p[done:], block[at%blockBytes:])
	}
	return done, nil
}

// get returns a block, asked for unless it is there. One that did not come is asked for
// again the next time.
func (p *blockCache) get(ctx context.Context, b *blob, k int64) ([]byte, error) {
	at := blockKey{b, k}
	e := p.entry(at)
	e.once.Do(func() {
		e.b, e.err = b.read(ctx, k*blockBytes, min(blockBytes, b.size-k*blockBytes))
	})
	if e.err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.blocks[at] == e {
			delete(p.blocks, at)
			p.order = slices.DeleteFunc(p.order, func(o blockKey) bool { return o == at })
		}
		return nil, &data.SourceError{Err: e.err} // without a part of it, an archive or a shard cannot be read
	}
	return e.b, nil
}

func (p *blockCache) entry(at blockKey) *block {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.blocks[at]; ok {
		return e
	}
	if p.blocks == nil {
		p.blocks = map[blockKey]*block{}
	}
	if len(p.order) == maxBlocks {
		delete(p.blocks, p.order[0])
		p.order = p.order[1:]
	}
	e := new(block)
	p.blocks[at] = e
	p.order = append(p.order, at)
	return e
}
