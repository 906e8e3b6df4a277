package index

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"

	"github.com/kindred-ml/kindred/internal/budget"
	"github.com/kindred-ml/kindred/internal/regular"
)

// The log holds what was done since the last segment was written. All numbers are
// little-endian.
//
//	bytes     content
//	0   8     magic "kindlog1"
//	8   8     the index's identity, 8 bytes of it
//	16        frames, one after another:
//	            0  4  magic "KFRM"
//	            4  4  CRC-32C of all that follows of the frame
//	            8  8  number of the frame, counted from 1
//	           16  4  length of what follows
//	           20     operations
//
// An operation is a byte and what it concerns; lengths and counts are unsigned
// varints, a text is its length and its bytes:
//
//	1  put     id, path, number of fields, for each its column's name, a byte with
//	           its kind and its value (a text, 8 bytes of float64, or a byte), then
//	           the vector's float32 values
//	2  remove  id
//
// A frame is what one write to the disk made durable: all of it counts, or none. The
// next frame is written only after that, so that no more than the last one can be
// incomplete.
const (
	logMagic    = "kindlog1"
	frameMagic  = "KFRM"
	logHeader   = 16
	frameHeader = 20
	maxFrame    = 1 << 30
)

const (
	opPut    = 1
	opRemove = 2
)

// operation is one change of the index.
type operation struct {
	entry  *Entry // put
	remove string // else the id to remove
}

// appendOperation adds an operation to a frame's content.
func appendOperation(b []byte, op operation) []byte {
	if op.entry == nil {
		return appendText(append(b, opRemove), op.remove)
	}
	e := op.entry
	b = appendText(appendText(append(b, opPut), e.ID), e.Path)
	names := make([]string, 0, len(e.Fields))
	for name, v := range e.Fields {
		if v.kind != None {
			names = append(names, name)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, name := range names {
		v := e.Fields[name]
		b = append(appendText(b, name), byte(v.kind))
		switch v.kind {
		case KindText:
			b = appendText(b, v.text)
		case KindNumber:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v.number))
		default:
			b = append(b, byte(v.number))
		}
	}
	for _, v := range e.Vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// errOperation is that of operations that are not as appendOperation writes them.
var errOperation = errors.New("an operation that is none")

// decodeOperations reads the content of a frame.
func decodeOperations(b []byte, dim int) (ops []operation, err error) {
	r := &opReader{b: b}
	for len(r.b) > 0 {
		var op operation
		switch r.byte() {
		case opPut:
			op.entry = r.entry(dim)
		case opRemove:
			op.remove = r.text()
			r.bad = r.bad || checkID(op.remove) != nil
		default:
			r.bad = true
		}
		if r.bad {
			return nil, errOperation
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// opReader takes parts off the front of b; bad says that one was not there.
type opReader struct {
	b   []byte
	bad bool
}

func (r *opReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *opReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *opReader) count() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *opReader) text() string { return string(r.take(r.count())) }

func (r *opReader) entry(dim int) *Entry {
	e := &Entry{Item: Item{ID: r.text(), Path: r.text()}}
	fields := r.count()
	if fields > maxColumns {
		r.bad = true
		return nil
	}
	if fields > 0 {
		e.Fields = make(map[string]Value, fields)
	}
	for range fields {
		name := r.text()
		switch Kind(r.byte()) {
		case KindText:
			e.Fields[name] = Text(r.text())
		case KindNumber:
			if b := r.take(8); b != nil {
				e.Fields[name] = Number(math.Float64frombits(binary.LittleEndian.Uint64(b)))
			}
		case KindBool:
			e.Fields[name] = Bool(r.byte() != 0)
		default:
			r.bad = true
		}
		if r.bad {
			return nil
		}
	}
	raw := r.take(uint64(dim) * 4)
	if r.bad {
		return nil
	}
	e.Vector = make([]float32, dim)
	for i := range e.Vector {
		e.Vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	r.bad = checkItem(&e.Item) != nil || checkVector(e.Vector, dim, "") != nil
	return e
}

// logFile is a log that is written.
type logFile struct {
	f      *os.File
	end    int64  // of the frames that are durable
	frames uint64 // their number
	// broken is why nothing can be written any more, nil while it can.
	broken error
	fault  func(op, path string) error // as in atomic.Files
}

// createLog makes an empty log and makes it durable, but for its name in the folder.
func createLog(path, index string, fault func(op, path string) error) (*logFile, error) {
	l := &logFile{fault: fault, end: logHeader}
	if err := l.may("create", path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, err
	}
	l.f = f
	if err = l.may("write", path); err == nil {
		_, err = f.WriteAt(append([]byte(logMagic), logIdentity(index)...), 0)
	}
	if err == nil {
		err = l.sync()
	}
	if err != nil {
		f.Close()
		return nil, errors.Join(err, os.Remove(path))
	}
	return l, nil
}

func logIdentity(index string) []byte { return append([]byte(index), make([]byte, 8)...)[:8] }

func (l *logFile) may(op, path string) error {
	if l.fault == nil {
		return nil
	}
	return l.fault(op, path)
}

func (l *logFile) sync() error {
	if err := l.may("sync", l.f.Name()); err != nil {
		return err
	}
	return l.f.Sync()
}

// append writes a frame and makes it durable. After an error the log is as it was
// before. Where not even that can be had it is broken: what was written might or
// might not be found again.
func (l *logFile) append(content []byte) error {
	if l.broken != nil {
		return fmt.Errorf("%s takes no more since %w; open the index again", l.f.Name(), l.broken)
	}
	if len(content) > maxFrame {
		return fmt.Errorf("%d bytes in one write: at most %d", len(content), maxFrame)
	}
	le := binary.LittleEndian
	b := make([]byte, frameHeader, frameHeader+len(content))
	copy(b, frameMagic)
	le.PutUint64(b[8:], l.frames+1)
	le.PutUint32(b[16:], uint32(len(content)))
	b = append(b, content...)
	le.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli()))
	err := l.may("write", l.f.Name())
	if err == nil {
		_, err = l.f.WriteAt(b, l.end)
	}
	if err == nil {
		err = l.sync()
	}
	if err != nil { // a full disk: what did arrive is taken off again
		if e := errors.Join(l.f.Truncate(l.end), l.sync()); e != nil {
			l.broken = err
		}
		return err
	}
	l.end += int64(len(b))
	l.frames++
	return nil
}

func (l *logFile) close() error { return l.f.Close() }

// DamageError says that a file of an index is not as it was written.
type DamageError struct {
	Path   string
	Reason string
}

func (e *DamageError) Error() string { return fmt.Sprintf("%s is damaged: %s", e.Path, e.Reason) }

// readLog gives apply the operations of every whole frame, and returns where they
// end and how many there are. If a whole frame follows one that is not, the error is a
// *DamageError. Else what follows the last whole frame is taken for a write that the
// machine did not finish, and that nobody was told of: a last frame that was damaged
// after it had been acknowledged cannot be told from that.
func readLog(path, index string, dim int, apply func([]operation) error) (end int64, frames uint64, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	r := bufio.NewReaderSize(f, 1<<20)
	damaged := func(format string, args ...any) error {
		return &DamageError{path, fmt.Sprintf(format, args...)}
	}
	head := make([]byte, logHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, 0, damaged("it ends in its header")
	}
	if string(head[:8]) != logMagic || string(head[8:]) != string(logIdentity(index)) {
		return 0, 0, damaged("it is no log of this index")
	}
	end = logHeader
	for {
		content, ok, err := readFrame(r, path, info.Size()-end, frames+1)
		if err != nil {
			return 0, 0, err
		}
		if !ok {
			break
		}
		ops, err := decodeOperations(content, dim)
		if err != nil {
			return 0, 0, damaged("frame %d at byte %d holds %v", frames+1, end, err)
		}
		if err := apply(ops); err != nil {
			return 0, 0, err
		}
		end += frameHeader + int64(len(content))
		frames++
	}
	at, err := laterFrame(f, end, info.Size(), frames)
	if err == nil && at >= 0 {
		err = damaged("frame %d at byte %d is not whole, and a whole one follows at byte %d", frames+1, end, at)
	}
	return end, frames, err
}

// readFrame reads the content of the frame with the given number; false if what is
// there is no whole one.
func readFrame(r io.Reader, path string, left int64, number uint64) ([]byte, bool, error) {
	head := make([]byte, frameHeader)
	if left < frameHeader {
		return nil, false, nil
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, false, nil
	}
	le := binary.LittleEndian
	n := int64(le.Uint32(head[16:]))
	if string(head[:4]) != frameMagic || n > left-frameHeader || le.Uint64(head[8:]) != number {
		return nil, false, nil
	}
	content, err := budget.ReadN(path, r, n)
	var over *budget.Error
	if errors.As(err, &over) {
		return nil, false, err
	}
	sum := crc32.Update(crc32.Checksum(head[8:], castagnoli()), castagnoli(), content)
	return content, err == nil && sum == le.Uint32(head[4:]), nil
}

// laterFrame looks in the bytes from..size for a whole frame with a number above
// frames, and returns where it is, -1 if nowhere.
func laterFrame(f *os.File, from, size int64, frames uint64) (int64, error) {
	const window = 1 << 20
	le := binary.LittleEndian
	buf := make([]byte, window+frameHeader)
	for at := from; at < size; at += window {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return -1, err
		}
		for i := 0; i+frameHeader <= n && i < window; i++ {
			if string(buf[i:i+4]) != frameMagic {
				continue
			}
			number, place := le.Uint64(buf[i+8:]), at+int64(i)
			if number <= frames || number > frames+1<<32 {
				continue
			}
			section := io.NewSectionReader(f, place, size-place)
			_, ok, err := readFrame(section, f.Name(), size-place, number)
			if err != nil || ok {
				return place, err
			}
		}
	}
	return -1, nil
}
