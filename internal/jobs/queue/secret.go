package queue

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/jobs"
)

// Bounds of the bytes of a secret.
const (
	minSecret = 32
	maxSecret = 4 << 10
)

// ReadSecret reads Options.Secret from a file, without the white space at its ends.
func ReadSecret(path string) ([]byte, error) {
	text, err := fileinfo.ReadAtMost(path, "a secret", maxSecret)
	if err != nil {
		return nil, err
	}
	if text = bytes.TrimSpace(text); len(text) < minSecret {
		return nil, fmt.Errorf("%s is not a secret: want at least %d characters, such as those of 'openssl rand "+
			"-hex 32'",
			path, minSecret)
	}
	return text, nil
}

// The sorts of signed data.
const (
	signedJob        = "job"
	signedCheckpoint = "checkpoint"
	signedResult     = "result"
)

// mac returns an HMAC-SHA256 with the queue's secret. It covers the sort of data, the job, and then the data written
// to it. Both texts are preceded by their lengths, so that different pairs have different bytes.
func (q *Queue) mac(what, of string) hash.Hash {
	h := hmac.New(sha256.New, q.o.Secret)
	for _, s := range []string{"kindred queue 1", what, of} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		io.WriteString(h, s)
	}
	return h
}

// sign returns the signature of some bytes; "" without a secret.
func (q *Queue) sign(what, of string, content []byte) string {
	if len(q.o.Secret) == 0 {
		return ""
	}
	h := q.mac(what, of)
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// isSigned reports whether a signature fits some bytes. Without a secret it is always true.
func (q *Queue) isSigned(what, of string, content []byte, signature string) bool {
	return len(q.o.Secret) == 0 || hmac.Equal([]byte(q.sign(what, of, content)), []byte(signature))
}

// signJob returns the signature of a job: over its title and its spec in the form in which they are sent, and
// over the key, which is computed from its lane, kind and spec.
func (q *Queue) signJob(key string, j jobs.Job) string {
	return q.sign(signedJob, jobSignatureText(key, j), j.Compact())
}

// jobSignatureText is what a job's signature is for. Bytes of a title that are no UTF-8, as those of
// a file's name may be, travel as U+FFFD.
func jobSignatureText(key string, j jobs.Job) string { return key + "\n" + string([]rune(j.Title)) }

// verify returns an error if a job of the queue must not be done because its key or signature is
// wrong.
func (q *Queue) verify(key string, g *jobValue) error {
	if err := g.Job.Check(); err != nil {
		return err
	}
	if q.key(g.Job) != key {
		return errors.New("the job does not fit its name, as it was changed in the queue")
	}
	if q.isSigned(signedJob, jobSignatureText(key, g.Job), g.Job.Compact(), g.Signature) {
		return nil
	}
	why := "it is signed with another secret than this worker's"
	if g.Signature == "" {
		why = "it is not signed, but this worker does only signed jobs"
	}
	return fmt.Errorf("%s: give the same secret to the command that submits it, and remove this one by "+
		"'kindred jobs remove %.8s'", why, key)
}

// digestReader is a reader that checks a digest at the end.
type digestReader struct {
	io.ReadCloser
	sum  hash.Hash
	want string // in hexadecimal
	err  error  // returned if the digest differs
}

func (c *digestReader) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.sum.Write(b[:n])
	if errors.Is(err, io.EOF) && !hmac.Equal([]byte(hex.EncodeToString(c.sum.Sum(nil))), []byte(c.want)) {
		return n, c.err
	}
	return n, err
}
