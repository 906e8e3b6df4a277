package index

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// DamageError is the error for a damaged file of an index.
type DamageError struct {
	Path   string
	Reason string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged: %s; kindred index check %s lists all damage, and can repair the index by "+
		"keeping intact items only; to get all items back, restore a backup or create the index again", e.Path,
		e.Reason, filepath.Dir(e.Path))
}

// Shortfall means that the log lacks acknowledged changes at its end, as in an incomplete
// copy of an index.
type Shortfall struct {
	File string `json:"file"`
	// End is the end of the last complete change, and Acknowledged the end that the log should have.
	End          int64 `json:"end"`
	Acknowledged int64 `json:"acknowledged"`
	// Changes is the number of missing additions and removals of items.
	Changes uint64 `json:"changes"`
}

func (s *Shortfall) String() string { return s.File + " is cut short: " + s.reason() }

func (s *Shortfall) reason() string {
	return fmt.Sprintf("it ends at byte %d but once reached byte %d, so %d acknowledged additions and removals "+
		"are missing", s.End, s.Acknowledged, s.Changes)
}

// logContent is the content of a log.
type logContent struct {
	mark         // of the valid frames
	acknowledged mark
	slot         int    // place of that mark
	head         []byte // bytes before the frames
	size         int64
	shortfall    *Shortfall // nil if no acknowledged change is missing
}

// readLog passes the operations of every valid frame to apply. An invalid frame is a *DamageError if a valid frame
// follows or if it was acknowledged. If the file ends before the acknowledged frames do, the log is short instead.
// Other bytes after the last valid frame are an unfinished write that was never acknowledged.
//
// Another process may write meanwhile. It does not change the frames that were acknowledged when the marks were
// read. A problem after these frames is errReplaced if the log has changed since.
func readLog(f *os.File, index string, dim int, apply func([]operation) error) (*logContent, error) {
	path := f.Name()
	damaged := func(format string, args ...any) error {
		return &DamageError{path, fmt.Sprintf(format, args...)}
	}
	out := &logContent{}
	// The marks are read before the size: acknowledged frames are within it.
	if reason := out.readHeader(f, index); reason != "" {
		if out.hasChanged(f) {
			return nil, errReplaced
		}
		return nil, damaged("%s", reason)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	out.size = info.Size()
	left := out.size - out.end
	r := bufio.NewReaderSize(io.NewSectionReader(f, out.end, left), int(min(left, 1<<20)))
	for {
		content, ok, err := readFrame(r, path, out.size-out.end, out.frames+1)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		ops, err := decodeOperations(content, dim)
		if err != nil {
			return nil, damaged("frame %d at byte %d contains %v", out.frames+1, out.end, err)
		}
		if err := apply(ops); err != nil {
			return nil, err
		}
		out.end += frameHeader + int64(len(content))
		out.frames++
		out.operations += uint64(len(ops))
	}
	at, err := findLaterFrame(f, out.end, out.size, out.frames)
	switch ack := out.acknowledged; {
	case err != nil:
		return nil, err
	case at >= 0 && out.end >= ack.end && out.hasChanged(f):
		return nil, errReplaced
	case at >= 0:
		return nil, damaged("frame %d at byte %d is invalid, but a valid one follows at byte %d", out.frames+1,
			out.end, at)
	case out.frames >= ack.frames:
	case out.size >= ack.end:
		return nil, damaged("frame %d at byte %d is invalid, but it was acknowledged", out.frames+1, out.end)
	default:
		out.shortfall = &Shortfall{File: filepath.Base(path), End: out.end, Acknowledged: ack.end,
			Changes: ack.operations - min(ack.operations, out.operations)}
	}
	return out, nil
}

// readHeader reads the bytes before the frames; reason is what is wrong with them.
func (l *logContent) readHeader(f io.ReaderAt, index string) (reason string) {
	head := make([]byte, logHeader)
	n, err := f.ReadAt(head, 0)
	l.head = head[:n]
	if err != nil && !errors.Is(err, io.EOF) {
		return err.Error()
	}
	if n < logHeader {
		return "it ends in its header"
	}
	if string(head[:8]) != logMagic || string(head[8:markOffset]) != string(encodeIdentity(index)) {
		return "it is not a log of this index"
	}
	l.end = logHeader
	some := false
	for slot := range 2 {
		m, ok := decodeMark(head[markOffset+slot*markSize:])
		if ok && (!some || m.frames > l.acknowledged.frames) {
			l.acknowledged, l.slot, some = m, slot, true
		}
	}
	if !some {
		return "its end is not known: both of its marks are invalid"
	}
	return ""
}

// hasChanged reports whether a process has written to the log since it was read: it moved a mark,
// changed the size, or finished the frame after the last valid one.
func (l *logContent) hasChanged(f *os.File) bool {
	now := &logContent{}
	_ = now.readHeader(f, "") // only the bytes are needed
	st, err := f.Stat()
	if err != nil || !bytes.Equal(now.head, l.head) || l.size > 0 && st.Size() != l.size {
		return true
	}
	left := l.size - l.end
	_, ok, err := readFrame(io.NewSectionReader(f, l.end, max(left, 0)), f.Name(), left, l.frames+1)
	return err == nil && ok
}

// readFrame reads the content of the frame with the given number; false if it is not
// valid.
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

// findLaterFrame looks in the bytes from..size for a valid frame with a number above
// frames. It returns the position of the frame; -1 without one.
func findLaterFrame(f *os.File, from, size int64, frames uint64) (int64, error) {
	const window = 1 << 20
	le := binary.LittleEndian
	buf := make([]byte, min(window+frameHeader, max(size-from, 0)))
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
