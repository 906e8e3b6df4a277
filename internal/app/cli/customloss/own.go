// Package customloss lets a program at the other end of two streams compute the loss, or choose the triplets, of a run.
//
// The program first sends its Identity: the length in bytes as uint32, then JSON. For each batch it is then sent a
// request and sends an answer. All numbers are little-endian.
//
//	request  "KRQ1", kind (1 byte), n (uint32), d (uint32), n x d float32, n int64: embeddings and labels
//	answer   'L', float64, n x d float32: the loss and its gradient, or
//	         'M', m (uint32), m x 3 int32: triplets of an anchor, a positive and a negative as rows, or
//	         'E', length (uint32), text in UTF-8: why there is none, which ends the run
//
// kind is the letter of the answer. What follows the last request on the same stream is the result of the command,
// which does not begin with "KRQ1".
package customloss

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/objective"
)

// File is the file of a run's folder with the identity of its loss or miner.
const File = "own.json"

// Identity says which loss or miner a program has. A run continues only with the same.
type Identity struct {
	Kind   string `json:"kind"`   // "loss" or "miner"
	Name   string `json:"name"`   // of the function
	Digest string `json:"digest"` // of its source
}

// Link is the connection to the program.
type Link struct {
	Identity
	in  *bufio.Reader
	out io.Writer
	raw []byte
}

// The most bytes of an identity, and of a reason.
const (
	maxIdentity = 64 << 10
	maxReason   = 1 << 20
)

// Open reads the program's identity from in. kind is "loss" or "miner". Requests go to out.
func Open(kind string, in io.Reader, out io.Writer) (*Link, error) {
	l := &Link{in: bufio.NewReaderSize(in, 1<<16), out: out}
	text, err := l.readText(maxIdentity)
	if err == nil {
		err = strictjson.UnmarshalLoose(text, &l.Identity)
	}
	if err == nil && (l.Kind != kind || l.Name == "" || l.Digest == "") {
		err = fmt.Errorf("it has kind %q, name %q and digest %q, but kind must be %q and the others a text", l.Kind,
			l.Name, l.Digest, kind)
	}
	if err != nil {
		return nil, fmt.Errorf("the identity of the program's own %s on standard input cannot be read: %w; "+
			"--own is for programs such as kindred_ml, whose Embedder takes a loss and a miner", kind, err)
	}
	return l, nil
}

// Check returns an error if the run in a folder has another loss or miner.
func (l *Link) Check(dir string) error {
	path := filepath.Join(dir, File)
	text, err := fileinfo.ReadAtMost(path, "the identity of a loss", maxIdentity)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the run in %s has no %s of a program's own: leave it out", dir, l.Kind)
	} else if err != nil {
		return err
	}
	var was Identity
	if err := strictjson.UnmarshalLoose(text, &was); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if was != l.Identity {
		return fmt.Errorf("the run in %s was begun with the %s %s (digest %.12s) and cannot continue with the %s %s "+
			"(digest %.12s): give the same function with the same source", dir, was.Kind, was.Name, was.Digest, l.Kind,
			l.Name, l.Digest)
	}
	return nil
}

// SaveIdentity writes the identity into the folder of a run.
func (l *Link) SaveIdentity(dir string) error {
	return atomic.WriteFile(filepath.Join(dir, File), atomic.JSON(l.Identity))
}

// Loss returns the program's loss.
func (l *Link) Loss() loss.Batches { return batchLoss{l} }

type batchLoss struct{ link *Link }

// Traits implements loss.Loss.
func (batchLoss) Traits() loss.Traits { return loss.Traits{AllPairs: true} }

// Terms implements loss.Loss.
func (b batchLoss) Terms() loss.Terms { return loss.BatchTerms(b) }

// Batch implements loss.Batches.
func (b batchLoss) Batch(e *matrix.Dense, labels []int64, grad *matrix.Dense) (float64, error) {
	l := b.link
	if err := l.request('L', e, labels); err != nil {
		return 0, err
	}
	raw, err := l.read(8 + 4*e.Rows*e.Cols)
	if err != nil {
		return 0, l.linkError(err)
	}
	value := math.Float64frombits(binary.LittleEndian.Uint64(raw))
	for i := range e.Rows {
		for j, row := 0, grad.Row(i); j < e.Cols; j++ {
			row[j] = math.Float32frombits(binary.LittleEndian.Uint32(raw[8+4*(i*e.Cols+j):]))
			if v := float64(row[j]); math.IsNaN(v) || math.IsInf(v, 0) {
				return 0, fmt.Errorf("the gradient of the loss %s is %v in row %d, number %d: it must be finite",
					l.Name, v, i, j)
			}
		}
	}
	return value, nil
}

// Mine asks the program for the triplets of a batch.
func (l *Link) Mine(e *matrix.Dense, b objective.Batch) ([][3]int32, error) {
	if err := l.request('M', e, b.Labels); err != nil {
		return nil, err
	}
	raw, err := l.read(4)
	if err != nil {
		return nil, l.linkError(err)
	}
	m := int64(binary.LittleEndian.Uint32(raw))
	if n := int64(e.Rows); m > n*n*n || m > 1<<26 {
		return nil, fmt.Errorf("the miner %s has %d triplets for a batch of %d rows: too many", l.Name, m, n)
	}
	if raw, err = l.read(int(12 * m)); err != nil {
		return nil, l.linkError(err)
	}
	out := make([][3]int32, m)
	for k := range out {
		for j := range 3 {
			out[k][j] = int32(binary.LittleEndian.Uint32(raw[12*k+4*j:]))
		}
	}
	return out, nil
}

// request sends a request and reads the kind of its answer.
func (l *Link) request(kind byte, e *matrix.Dense, labels []int64) error {
	raw := append(l.raw[:0], "KRQ1"...)
	raw = append(raw, kind)
	raw = binary.LittleEndian.AppendUint32(raw, uint32(e.Rows))
	raw = binary.LittleEndian.AppendUint32(raw, uint32(e.Cols))
	for i := range e.Rows {
		for _, v := range e.Row(i) {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
	}
	for _, y := range labels {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(y))
	}
	l.raw = raw
	if _, err := l.out.Write(raw); err != nil {
		return l.linkError(err)
	}
	answer, err := l.in.ReadByte()
	switch {
	case err != nil:
		return l.linkError(err)
	case answer == kind:
		return nil
	case answer != 'E':
		return fmt.Errorf("the answer of the %s %s begins with %q: want %q or 'E'", l.Kind, l.Name, answer, kind)
	}
	text, err := l.readText(maxReason)
	if err != nil {
		return l.linkError(err)
	}
	return fmt.Errorf("the %s %s failed:\n%s", l.Kind, l.Name, text)
}

func (l *Link) linkError(err error) error {
	return fmt.Errorf("the program with the %s %s no longer answers: %w", l.Kind, l.Name, err)
}

// readText reads a text after its length.
func (l *Link) readText(most int) ([]byte, error) {
	raw, err := l.read(4)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(raw)
	if n > uint32(most) {
		return nil, fmt.Errorf("a text of %d bytes: at most %d are allowed", n, most)
	}
	return l.read(int(n))
}

// read reads n bytes, which are valid until the next call.
func (l *Link) read(n int) ([]byte, error) {
	if cap(l.raw) < n {
		l.raw = make([]byte, n)
	}
	l.raw = l.raw[:n]
	_, err := io.ReadFull(l.in, l.raw)
	return l.raw, err
}
