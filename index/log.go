package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

// The log holds what was done since the last segment was written. All numbers are
// little-endian.
//
//	bytes     content
//	0   8     magic "kindlog2"
//	8   8     the index's identity, 8 bytes of it
//	16 32     a mark
//	48 32     another mark
//	80        frames, one after another:
//	            0  4  magic "KFRM"
//	            4  4  CRC-32C of all that follows of the frame
//	            8  8  number of the frame, counted from 1
//	           16  4  length of what follows
//	           20     operations; see operation.go
//
// A frame is what one write to the disk made durable: all of it counts, or none. The
// next frame is written only after that, so that no more than the last one can be
// incomplete.
//
// A mark says how far frames were acknowledged, so that a log that was cut short is told
// from one that never was longer:
//
//	0   8     number of frames
//	8   8     where the last of them ends
//	16  8     number of their operations
//	24  4     CRC-32C of the bytes before
//	28  4     zero
//
// Of two whole marks the one with more frames counts. A mark is written over the other
// one, when its frame is durable and before anybody is told: a process that is killed
// leaves the mark of all that it acknowledged. It is made durable together with the next
// frame, or as the log is closed. After a loss of power it may therefore be one frame
// behind, or torn, and then the other one counts. The next start writes what is missing.
const (
	logMagic    = "kindlog2"
	frameMagic  = "KFRM"
	markAt      = 16
	markSize    = 32
	logHeader   = markAt + 2*markSize
	frameHeader = 20
	maxFrame    = 1 << 30
)

// mark is how far a log goes.
type mark struct {
	frames     uint64
	end        int64 // of the last of them
	operations uint64
}

func (m mark) encode() []byte {
	le := binary.LittleEndian
	b := le.AppendUint64(make([]byte, 0, markSize), m.frames)
	b = le.AppendUint64(b, uint64(m.end))
	b = le.AppendUint64(b, m.operations)
	return append(le.AppendUint32(b, crc32.Checksum(b, castagnoli())), 0, 0, 0, 0)
}

// decodeMark reads a mark. It returns false if the mark is not whole.
func decodeMark(b []byte) (mark, bool) {
	le := binary.LittleEndian
	m := mark{le.Uint64(b), int64(le.Uint64(b[8:])), le.Uint64(b[16:])}
	return m, crc32.Checksum(b[:24], castagnoli()) == le.Uint32(b[24:]) && m.end >= logHeader
}

// logFile is a log that is written.
type logFile struct {
	f    *atomic.File
	mark mark // of the frames that are durable
	slot int  // where the newest whole mark is, 0 or 1
	// broken is why nothing can be written any more, nil while it can.
	broken error
}

// createLog makes an empty log and makes it durable, with its name in the folder, which
// must be there before a manifest has it.
func createLog(files atomic.Files, path, index string) (*logFile, error) {
	if err := files.Remove(path); err != nil { // of a process that was killed
		return nil, err
	}
	f, err := files.Create(path)
	if err != nil {
		return nil, err
	}
	l := &logFile{f: f, mark: mark{end: logHeader}}
	head := append([]byte(logMagic), logIdentity(index)...)
	head = append(append(head, l.mark.encode()...), make([]byte, markSize)...)
	if _, err = f.WriteAt(head, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = files.SyncFolder(filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		return nil, errors.Join(err, files.Remove(path))
	}
	return l, nil
}

// openLog opens a log for writing behind the frames that count. What follows them
// was never acknowledged.
func openLog(files atomic.Files, path string, found *logged) (*logFile, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	l := &logFile{f: f, mark: found.mark, slot: found.slot}
	if found.size > l.mark.end {
		err = f.Truncate(l.mark.end)
	}
	if err == nil && found.acknowledged != l.mark { // it was not told of the last frames any more
		err = l.tell()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

func logIdentity(index string) []byte { return append([]byte(index), make([]byte, 8)...)[:8] }

// append writes a frame of a number of operations and makes it durable. After an error the
// log is as it was before. If it cannot be restored, the log is broken: a later reader may
// or may not find the frame.
func (l *logFile) append(content []byte, operations int) error {
	if l.broken != nil {
		return fmt.Errorf("%s takes no more changes since %w; open the index again", l.f.Name(), l.broken)
	}
	if len(content) > maxFrame {
		return fmt.Errorf("%d bytes in one write: at most %d", len(content), maxFrame)
	}
	le := binary.LittleEndian
	b := make([]byte, frameHeader, frameHeader+len(content))
	copy(b, frameMagic)
	le.PutUint64(b[8:], l.mark.frames+1)
	le.PutUint32(b[16:], uint32(len(content)))
	b = append(b, content...)
	le.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli()))
	_, err := l.f.WriteAt(b, l.mark.end)
	if err == nil {
		err = l.f.Sync()
	}
	if err != nil { // a full disk: what did arrive is taken off again
		if e := errors.Join(l.f.Truncate(l.mark.end), l.f.Sync()); e != nil {
			l.broken = err
		}
		return err
	}
	l.mark.frames++
	l.mark.end += int64(len(b))
	l.mark.operations += uint64(operations)
	if err := l.tell(); err != nil {
		l.broken = err // the frame is there, and the mark may be
		return err
	}
	return nil
}

// tell writes the mark over the older one. The newer one is durable by then: the log has
// been synced since.
func (l *logFile) tell() error {
	to := 1 - l.slot
	if _, err := l.f.WriteAt(l.mark.encode(), markAt+int64(to)*markSize); err != nil {
		return err
	}
	l.slot = to
	return nil
}

// finish makes the last mark durable and closes the log. A failure to do so is no error:
// the frames are durable already.
func (l *logFile) finish() error {
	if l.broken == nil {
		_ = l.f.Sync()
	}
	return l.close()
}

func (l *logFile) close() error { return l.f.Close() }
